// SPDX-License-Identifier: Apache-2.0
#include "base/threefry.h"

#include <gtest/gtest.h>

namespace tilefuse {
namespace {

// The known answers that the authors publish with their code (Random123, kat_vectors).
TEST(Threefry, KnownAnswers) {
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (ThreefryWords{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (ThreefryWords{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}),
            (ThreefryWords{0xc4923a9c, 0x483df7a0}));
}

TEST(Threefry, WordsAndBitsAreTheSame) {
  EXPECT_EQ(to_words(0x0123456789abcdef), (ThreefryWords{0x89abcdef, 0x01234567}));
  EXPECT_EQ(to_bits({0x89abcdef, 0x01234567}), 0x0123456789abcdefU);
}

TEST(Threefry, NumbersBelowReachBothEnds) {
  EXPECT_EQ(number_below(9, 0), 0U);
  EXPECT_EQ(number_below(9, 0xffffffff), 8U);
  EXPECT_EQ(number_below(1, 0xffffffff), 0U);
  EXPECT_EQ(number_below(2, 0x7fffffff), 0U);
  EXPECT_EQ(number_below(2, 0x80000000), 1U);
}

} // namespace
} // namespace tilefuse
