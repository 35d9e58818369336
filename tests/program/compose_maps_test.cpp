// SPDX-License-Identifier: Apache-2.0
// Maps that are evaluated where they are read: which are, and that values stay.
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/gradient/gradient.h"
#include "program/reference.h"
#include "program/rewrite/compose_maps.h"

namespace tilefuse::program {
namespace {

// The composed program, which gives what the given one gives.
Program composed(const std::string &text) {
  const Program before = testing::program_of(text.c_str());
  Program after = compose_maps(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  EXPECT_EQ(to_text(parse_program(to_text(after))), to_text(after));
  return after;
}

TEST(ComposeMaps, TwoMapsIntoTheOneThatReadsThem) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 3]
  input %1 "b" : f32[3]
  %2 "m" : f32[4, 3] = map[%0](2.0*$0)
  %3 "n" : f32[4, 3] = map[%0, %1](max($0 - $1, 0.0))
  %4 "s" : f32[4, 3] = map[%2, %3]($0 + $1)
  output %4
})");
  ASSERT_EQ(after.statements.size(), 1U);
  EXPECT_EQ(reads(after.statements[0]), (std::vector{TensorId{0}, TensorId{1}}));
}

TEST(ComposeMaps, ADistanceIntoTheSumOfItsSquares) {
  const Program after = composed(R"(program "p" {
  input %0 "x" : f32[2, 3, 4, 5]
  input %1 "mean" : f32[3, 1, 1]
  %2 "z" : f32[2, 3, 4, 5] = map[%0, %1]($0 - $1)
  %3 "q" : f32[3] = sum[n, c, y, x](%2[n, c, y, x] * %2[n, c, y, x]) -> [c]
  %4 "s" : f32[3] = sum[n, c, y, x](%2[n, c, y, x]) -> [c]
  output %3
  output %4
})");
  ASSERT_EQ(after.statements.size(), 2U);
  const auto &squares = std::get<Contraction>(after.statements[0].body);
  EXPECT_EQ(squares.comb, Comb::Term);
  EXPECT_EQ(to_text(squares.term), "($0 - $1) * ($0 - $1)");
}

TEST(ComposeMaps, WhatHalfPrecisionStoredIsReadBefore) {
  const Program after = composed(R"(program "p" {
  input %0 "x" : f16[4, 6]
  %1 "z" : f16[4, 6] = map[%0](f16(f32($0) - 1.0))
  %2 "q" : f32[6] = sum[n, c](%1[n, c] * %1[n, c]) -> [c]
  output %2
})");
  ASSERT_EQ(after.statements.size(), 1U);
  EXPECT_EQ(to_text(std::get<Contraction>(after.statements[0].body).term), "($0 - 1) * ($0 - 1)");
}

// What its rounding hid stays coarse.
TEST(ComposeMaps, WhatRoundingHidIsCoarse) {
  const Program after = composed(R"(program "p" {
  input %0 "x" : f16[4, 6]
  %1 "z" : f16[4, 6] = map[%0](f16(f32($0) / (1.0 + exp(f32($0)))))
  %2 "q" : f32[6] = sum[n, c](%1[n, c]) -> [c]
  output %2
})");
  ASSERT_EQ(after.statements.size(), 1U);
  EXPECT_EQ(to_text(std::get<Contraction>(after.statements[0].body).term),
            "coarse($0 / (1 + exp($0)))");
}

// A dimension of one element needs no index.
TEST(ComposeMaps, IntoASumOfOneImage) {
  const Program after = composed(R"(program "p" {
  input %0 "x" : f32[1, 6, 4, 5]
  input %1 "mean" : f32[1, 1, 4, 5]
  %2 "q" : f32[1, 6, 4, 5] = map[%0, %1](($0 - $1) * ($0 - $1))
  %3 "v" : f32[4, 5] = sum[y, x, c](%2[0, c, y, x]) -> [y, x]
  output %3
})");
  ASSERT_EQ(after.statements.size(), 1U);
  EXPECT_EQ(to_text(std::get<Contraction>(after.statements[0].body).term), "($0 - $1) * ($0 - $1)");
}

// What each kernel of a matrix product reads many times is stored.
TEST(ComposeMaps, NotIntoAProductOfMatrices) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 5]
  input %1 "b" : f32[5, 6]
  %2 "m" : f32[4, 5] = map[%0](max($0, 0.0))
  %3 "c" : f32[4, 6] = sum[i, j, k](%2[i, k] * %1[k, j]) -> [i, j]
  output %3
})");
  EXPECT_EQ(after.statements.size(), 2U);
}

TEST(ComposeMaps, NotWhereAllReadersTogetherReadMore) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[300, 400]
  input %1 "b" : f32[300, 400]
  input %2 "c" : f32[300, 400]
  input %3 "d" : f32[300, 400]
  input %4 "e" : f32[300, 400]
  %5 "m" : f32[300, 400] = map[%0, %1, %2, %3]($0 + $1 + $2*$3)
  %6 "r" : f32[300, 400] = map[%5, %4]($0*$1)
  %7 "s" : f32[300, 400] = map[%5, %4]($0 - $1)
  output %6
  output %7
})");
  EXPECT_EQ(after.statements.size(), 3U);
}

// The sum over a window reads elements several times.
TEST(ComposeMaps, NotIntoAWindow) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[7]
  %1 "m" : f32[7] = map[%0](2.0*$0)
  %2 "w" : f32[5] = sum[x, r](%1[x + r]) -> [x] where 0 <= r < 3
  output %2
})");
  EXPECT_EQ(after.statements.size(), 2U);
}

// A conv-like sum stores what the map makes of it, though one of two readers could.
TEST(ComposeMaps, NotAPostOpThatStaysNeeded) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 5]
  input %1 "b" : f32[5, 6]
  input %2 "d" : f32[6, 4]
  %3 "c" : f32[4, 6] = sum[i, j, k](%0[i, k] * %1[k, j]) -> [i, j]
  %4 "m" : f32[4, 6] = map[%3](max($0, 0.0))
  %5 "e" : f32[4, 4] = sum[i, j, k](%4[i, k] * %2[k, j]) -> [i, j]
  %6 "r" : f32[4, 6] = map[%4](2.0*$0)
  output %5
  output %6
})");
  EXPECT_EQ(after.statements.size(), 4U);
  EXPECT_EQ(reads(after.statements[3]), std::vector{TensorId{4}});
}

// A mean behind a sum that will be one with other sums: who reads it divides the sum.
TEST(ComposeMaps, ASmallMapBehindASumOfOneTensor) {
  const Program after = composed(R"(program "p" {
  input %0 "x" : f32[2, 3, 4]
  input %1 "g" : f32[3]
  %2 "s" : f32[3] = sum[n, c, x](%0[n, c, x]) -> [c]
  %3 "mean" : f32[3] = map[%2]($0 / 8.0)
  %4 "b" : f32[3] = map[%3, %1]($0 * $1)
  output %3
  output %4
})");
  ASSERT_EQ(after.statements.size(), 3U);
  EXPECT_EQ(reads(after.statements[2]), (std::vector{TensorId{2}, TensorId{1}}));
}

// Nothing else would bound the sum's second index.
TEST(ComposeMaps, NotASpreadNumberIntoASum) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 1]
  input %1 "b" : f32[5]
  %2 "m" : f32[4, 5] = map[%0, %1]($0*$1)
  %3 "s" : f32[4] = sum[i, j](%2[i, j]) -> [i]
  output %3
})");
  EXPECT_EQ(after.statements.size(), 2U);
}

// A dimension of one element still bounds its index.
TEST(ComposeMaps, SumsOverDimensionsOfOne) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 5, 1]
  input %1 "b" : f32[4, 1, 1]
  %2 "m" : f32[4, 5, 1] = map[%0, %1]($0 - $1)
  %3 "s" : f32[4, 1, 1] = sum[i, j, k](%2[i, j, k]) -> [i, 0, 0]
  output %3
})");
  EXPECT_EQ(after.statements.size(), 1U);
}

TEST(ComposeMaps, OutputsStay) {
  const Program after = composed(R"(program "p" {
  input %0 "a" : f32[4, 5]
  %1 "m" : f32[4, 5] = map[%0](2.0*$0)
  %2 "r" : f32[4, 5] = map[%0, %1]($0*$1 + 1.0)
  output %1
  output %2
})");
  ASSERT_EQ(after.statements.size(), 2U);
  EXPECT_EQ(reads(after.statements[1]), std::vector{TensorId{0}});
}

TEST(ComposeMaps, OriginsNameEachNodeOnce) {
  Program before = testing::program_of(R"(program "p" {
  input %0 "a" : f32[4, 5]
  %1 "m" : f32[4, 5] = map[%0](2.0*$0)
  %2 "r" : f32[4, 5] = map[%0, %1]($0*$1 + 1.0)
  output %2
})");
  before.statements[0].origin = "Mul 1 + Add 11";
  before.statements[1].origin = "Add 1 + Mul 1";
  EXPECT_EQ(compose_maps(before).statements[0].origin, "Mul 1 + Add 11 + Add 1");
}

TEST(ComposeMaps, TermsHaveNoGradient) {
  const Program term = testing::program_of(R"(program "p" {
  input %0 "x" : f32[4, 6]
  %1 "q" : f32[6] = sum[n, c](max($0, 0.0)*$0 of %0[n, c]) -> [c]
  output %1
})");
  EXPECT_THROW(gradient(term, {.by = {TensorId{0}}}), Error);
}

} // namespace
} // namespace tilefuse::program
