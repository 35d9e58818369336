// SPDX-License-Identifier: Apache-2.0
// The index box of a contraction, by exact integer reasoning on conditions 0 <= form < bound.
//
// A condition on a single index bounds it exactly. Conditions on several indices bound each of them
// by the range the others leave, repeated until nothing changes. That box holds every point that
// satisfies all conditions; where it holds others too, they cost time and never a result.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "nest/interval.h"

namespace tilefuse::nest {

// Holds at points with 0 <= form < bound. Coefficients and constants stay below 2^40, bounds below
// 2^62.
struct Condition {
  Linear form;
  std::int64_t bound = 0;
};

// Of one index; a missing end is not bounded.
struct Bounds {
  std::optional<std::int64_t> lo;
  std::optional<std::int64_t> hi;
  bool is_finite() const { return lo && hi; }
};

// Narrows `box` by the conditions; false when no point is left. `single_only` uses conditions on
// one index only.
bool narrow_box(std::vector<Bounds> &box, std::span<const Condition> conditions, bool single_only);

// Whether every point of the box of the `outputs` first indices has a point of the remaining ones
// at which all conditions hold. False also when that would take too long to find out.
bool covers_outputs(std::span<const Condition> conditions, std::span<const Index> indices,
                    std::size_t outputs);

} // namespace tilefuse::nest
