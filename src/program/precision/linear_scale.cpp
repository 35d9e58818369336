// SPDX-License-Identifier: Apache-2.0
#include "program/precision/linear_scale.h"

#include <algorithm>
#include <cmath>

namespace tilefuse::program {
namespace {

constexpr double kMostUnsigned = 255;
constexpr double kMostSigned = 127; // -128 is not used

// A scale of 0 would divide by it.
float usable(double scale) {
  const auto rounded = static_cast<float>(scale);
  return std::isnormal(rounded) ? rounded : 1;
}

} // namespace

Range joined(const Range &a, const Range &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

LinearScale unsigned_scale(const Range &range) {
  const double low = std::min(range.low, 0.0);
  const float scale = usable((std::max(range.high, 0.0) - low) / kMostUnsigned);
  const double zero = std::nearbyint(-low / static_cast<double>(scale));
  return {scale, static_cast<int>(std::clamp(zero, 0.0, kMostUnsigned))};
}

float signed_scale(double largest) { return usable(largest / kMostSigned); }

} // namespace tilefuse::program
