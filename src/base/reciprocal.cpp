// SPDX-License-Identifier: Apache-2.0
#include "base/reciprocal.h"

#include <cmath>
#include <cstdint>

namespace tilefuse {
namespace {

constexpr int kBits = 24; // of a significand
constexpr std::int64_t kOne = std::int64_t{1} << kBits;
constexpr std::int64_t kNear = 32;
constexpr int kTried = 4; // of `high`, each a neighbour nearer to zero
constexpr int kRange = 40;

// Of an odd number, modulo 2^64 (Newton, each step doubles the bits that are right).
std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t found = odd;
  for (int step = 0; step < 6; ++step)
    found *= 2 - odd * found;
  return found;
}

bool divides(float x, float divisor, Reciprocal parts) {
  return std::fma(x, parts.high, x * parts.low) == x / divisor;
}

// Whether x = (M * C + d) / 2^shift is divided rightly for every such M, where x is a significand.
bool divides_near(std::int64_t d, int shift, std::int64_t significand, float divisor,
                  Reciprocal parts) {
  const int twos = __builtin_ctzll(static_cast<std::uint64_t>(significand));
  if (d % (std::int64_t{1} << twos) != 0)
    return true;
  const std::int64_t period = kOne * 2 >> (twos + 1);
  const auto odd = static_cast<std::uint64_t>(significand >> twos);
  const auto least =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(-(d >> twos)) * inverse(odd) &
                                static_cast<std::uint64_t>(period - 1));
  for (std::int64_t m = kOne + least; m < 2 * kOne; m += period) {
    const std::int64_t scaled = m * significand + d;
    const std::int64_t x = scaled >> shift;
    if (m % 2 == 1 && x << shift == scaled && x >= kOne / 2 && x < kOne &&
        !divides(static_cast<float>(x), divisor, parts))
      return false;
  }
  return true;
}

bool divides_all(std::int64_t significand, float divisor, Reciprocal parts) {
  for (std::int64_t d = -kNear; d <= kNear; ++d)
    for (const int shift : {kBits, kBits + 1}) // quotients from 1 on, and below
      if (d != 0 && !divides_near(d, shift, significand, divisor, parts))
        return false;
  return true;
}

// The neighbour of 1 / divisor to begin with.
float first_high(double exact, Dividends dividends) {
  const auto nearest = static_cast<float>(exact);
  const bool is_above = std::fabs(static_cast<double>(nearest)) > std::fabs(exact);
  if (dividends == Dividends::Finite || !is_above)
    return nearest;
  return std::nextafter(nearest, 0.0F);
}

} // namespace

std::optional<Reciprocal> reciprocal(float divisor, Dividends dividends) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(divisor), &exponent);
  if (!std::isfinite(divisor) || divisor == 0 || exponent < -kRange || exponent > kRange)
    return std::nullopt;
  const auto wide = static_cast<double>(divisor);
  const auto significand = static_cast<std::int64_t>(std::ldexp(std::fabs(fraction), kBits));
  float high = first_high(1 / wide, dividends);
  for (int tried = 0; tried < kTried; ++tried, high = std::nextafter(high, 0.0F)) {
    const auto low = static_cast<float>(std::fma(-static_cast<double>(high), wide, 1.0) / wide);
    if (low == 0)
      return Reciprocal{high, 0};
    for (const float near : {low, std::nextafter(low, 2 * low), std::nextafter(low, 0.0F)})
      if (divides_all(significand, divisor, {high, near}))
        return Reciprocal{high, near};
  }
  return std::nullopt;
}

} // namespace tilefuse
