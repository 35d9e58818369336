// SPDX-License-Identifier: Apache-2.0
// Values a linear form takes over an index box.
#pragma once

#include <span>

#include "nest/nest.h"

namespace tilefuse::nest {

// Closed: lo and hi belong to it.
struct Interval {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  friend bool operator==(const Interval &, const Interval &) = default;
};

// Smallest and largest value of `form` over the box of `indices`. Throws Error{Limit} past 2^62.
Interval range_of(const Linear &form, std::span<const Index> indices);

} // namespace tilefuse::nest
