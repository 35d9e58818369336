// SPDX-License-Identifier: Apache-2.0
#include "base/rational.h"

#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

TEST(Rational, IsKeptInLowestTermsWithAPositiveDenominator) {
  EXPECT_EQ(Rational(6, -4), Rational(-3, 2));
  EXPECT_EQ(Rational(0, -7), Rational(0));
  EXPECT_EQ(to_string(Rational(6, -4)), "-3/2");
  EXPECT_EQ(to_string(Rational(8, 4)), "2");
}

TEST(Rational, Arithmetic) {
  const Rational half(1, 2);
  const Rational third(1, 3);
  EXPECT_EQ(half + third, Rational(5, 6));
  EXPECT_EQ(half - third, Rational(1, 6));
  EXPECT_EQ(half * third, Rational(1, 6));
  EXPECT_EQ(half / third, Rational(3, 2));
  EXPECT_LT(third, half);
  EXPECT_LT(Rational(-1, 2), Rational(-1, 3));
}

TEST(Rational, WhatLeaves64BitsIsAnError) {
  EXPECT_THROW(Rational(kMax) + Rational(1), Error);
  EXPECT_THROW(Rational(kMax) * Rational(kMax), Error);
  EXPECT_THROW(Rational(1, kMax) / Rational(kMax), Error);
  EXPECT_THROW(Rational(kMin, -1), Error);
  EXPECT_THROW(Rational(kMin, 1), Error);
  EXPECT_EQ(Rational(kMin, 2), Rational(kMin / 2));
  EXPECT_EQ(Rational(kMax) - Rational(kMax), Rational(0));
}

TEST(Rational, DivisionByZeroIsAnError) {
  EXPECT_THROW(Rational(1, 0), Error);
  EXPECT_THROW(Rational(1) / Rational(0), Error);
}

} // namespace
} // namespace tilefuse
