// SPDX-License-Identifier: Apache-2.0
// How many points of a contraction reach its results: an element of a padded convolution at a border
// is the sum of fewer products than one in the middle.
#pragma once

#include <cstdint>
#include <optional>

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

// Of a contraction of any kind; what cannot be told is not claimed.
Taps taps_of(const Program &program, const Statement &statement);

} // namespace tilefuse::program
