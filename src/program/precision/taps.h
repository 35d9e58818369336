// SPDX-License-Identifier: Apache-2.0
// How many points of a contraction reach its results: an element of a padded convolution at a border
// is the sum of fewer products than one in the middle.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct Taps {
  // Every element of the result is computed, of one point at least.
  bool reaches_all = false;
  // As many points as every other; nothing where borders are computed of fewer.
  std::optional<std::int64_t> count;
  // Of so many points at most.
  std::optional<std::int64_t> most;
};

// Closed; of the values of a subscript.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

// Of each subscript of operand `k` over all points that the other operands, the result and conditions
// allow; nothing where that is not bounded.
std::optional<std::vector<Reach>> reach_of(const Program &program, const Statement &statement,
                                           std::size_t k);
// Of a contraction of any kind; what cannot be told is not claimed.
Taps taps_of(const Program &program, const Statement &statement);

} // namespace tilefuse::program
