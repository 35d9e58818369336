// SPDX-License-Identifier: Apache-2.0
// A part of a nest: the same computation on a box of its output indices, at the same places of its
// slots. What one block of a kernel must have written is evaluated so.
#pragma once

#include <cstdint>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// By output index: its first value, and how many there are.
struct Box {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> count;
};

// The nest on the points of the box alone. Requires a box inside the nest's, with points.
Nest within(const Nest &nest, const Box &box);

} // namespace tilefuse::nest
