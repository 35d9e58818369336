// SPDX-License-Identifier: Apache-2.0
#include "base/reciprocal.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tilefuse {
namespace {

float quotient(float x, Reciprocal parts) {
  return parts.low == 0 ? x * parts.high : std::fma(x, parts.high, x * parts.low);
}

// Numbers of one binade.
float of_significand(std::uint32_t bits) { return std::bit_cast<float>(0x3F800000U | bits); }

TEST(Reciprocal, EverySignificandIsDividedAsByTheDivision) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 4; ++trial) {
    const float divisor = of_significand(random() & 0x7FFFFF) * 0.03125F;
    const std::optional<Reciprocal> parts = reciprocal(divisor, Dividends::All);
    if (!parts)
      continue;
    for (std::uint32_t bits = 0; bits < 0x800000; ++bits)
      ASSERT_EQ(of_significand(bits) / divisor, quotient(of_significand(bits), *parts))
          << divisor << " " << bits;
  }
}

// Of 3000 divisors, how many have one, which is right for some numbers.
int found(Dividends dividends) {
  std::mt19937 random(1);
  int count = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const float divisor = std::ldexp(of_significand(random() & 0x7FFFFF), trial % 24 - 12);
    const std::optional<Reciprocal> parts = reciprocal(divisor, dividends);
    count += parts ? 1 : 0;
    for (int k = 0; parts && k < 1000; ++k) {
      const float x = std::ldexp(of_significand(random() & 0x7FFFFF), k % 60 - 30);
      EXPECT_EQ(x / divisor, quotient(x, *parts)) << x << " " << divisor;
      EXPECT_EQ(-x / divisor, quotient(-x, *parts));
    }
  }
  return count;
}

TEST(Reciprocal, NearlyEveryDivisorHasOne) {
  EXPECT_GE(found(Dividends::Finite), 2990);
  EXPECT_GE(found(Dividends::All), 2900);
}

TEST(Reciprocal, WhatIsNoOrdinaryNumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float divisor : {0.1F, -3.0F, 0.25F, -8.0F}) {
    const std::optional<Reciprocal> parts = reciprocal(divisor, Dividends::All);
    ASSERT_TRUE(parts);
    for (const float x : {infinity, -infinity, 0.0F, -0.0F, std::numeric_limits<float>::max()}) {
      EXPECT_EQ(x / divisor, quotient(x, *parts)) << x << " " << divisor;
      EXPECT_EQ(std::signbit(x / divisor), std::signbit(quotient(x, *parts)));
    }
    EXPECT_TRUE(std::isnan(quotient(std::numeric_limits<float>::quiet_NaN(), *parts)));
    EXPECT_LT(std::fabs(quotient(1e-44F, *parts) - 1e-44F / divisor), 1e-40F);
  }
}

TEST(Reciprocal, DivisorsWithoutOne) {
  for (const float divisor : {0.0F, 1e-30F, 1e30F, std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(reciprocal(divisor, Dividends::Finite)) << divisor;
}

} // namespace
} // namespace tilefuse
