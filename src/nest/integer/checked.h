// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic on sizes that users give: results past 2^62 are Error{Limit}, never wrapped.
#pragma once

#include <cstdint>

#include "base/error.h"

namespace tilefuse::nest {

// The largest magnitude of any size, stride, subscript or address.
inline constexpr std::int64_t kMaxMagnitude = std::int64_t{1} << 62;

// `value`, or Error{Limit} when its magnitude exceeds kMaxMagnitude.
inline std::int64_t narrow(__int128 value) {
  if (value > kMaxMagnitude || value < -kMaxMagnitude)
    throw Error(ErrorCode::Limit, "an index or size leaves 62 bits");
  return static_cast<std::int64_t>(value);
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  return narrow(static_cast<__int128>(a) + b);
}
inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  return narrow(static_cast<__int128>(a) * b);
}

} // namespace tilefuse::nest
