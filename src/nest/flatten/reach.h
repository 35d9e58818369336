// SPDX-License-Identifier: Apache-2.0
// Which points of the output indices a contraction reaches: those for which some point of the
// reduced indices satisfies all conditions. Found by trying points, since a result that keeps its
// default where nothing is written must be told apart exactly.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nest/integer/bounds.h"

namespace tilefuse::nest {

// Points lo … hi of every output index, both included.
using IndexBox = std::vector<Interval>;

// Disjoint boxes that make up the box of the output indices.
struct Reach {
  std::vector<IndexBox> reached;
  std::vector<IndexBox> unreached;
  bool is_all() const { return unreached.empty(); }
};

// The first `outputs` indices are output indices. Nothing when there are too many points to try, or
// more than 1024 boxes.
std::optional<Reach> find_reach(std::span<const Condition> conditions,
                                std::span<const Index> indices, std::size_t outputs);

} // namespace tilefuse::nest
