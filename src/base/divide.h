// SPDX-License-Identifier: Apache-2.0
// Division of positive whole numbers, rounded up.
#pragma once

#include <cstdint>

namespace tilefuse {

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

// The least multiple that is no smaller.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return ceil_div(value, multiple) * multiple;
}

} // namespace tilefuse
