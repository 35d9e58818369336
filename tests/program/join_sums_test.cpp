// SPDX-License-Identifier: Apache-2.0
// Sums that become one: which do, and that values stay.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/join_sums.h"
#include "program/rewrite/merge_sums.h"

namespace tilefuse::program {
namespace {

Program joined(const std::string &text) {
  const Program before = testing::program_of(text.c_str());
  Program after = join_sums(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  return after;
}

constexpr const char *kStatistics = R"(program "p" {
  input %0 "x" : f32[8, 3, 5, 7]
  input %1 "scale" : f32[3]
  %2 "s" : f32[3] = sum[n, c, y, x](%0[n, c, y, x]) -> [c]
  %3 "q" : f32[3] = sum[n, c, y, x](%0[n, c, y, x] * %0[n, c, y, x]) -> [c]
  %4 "mean" : f32[3] = map[%2]($0 / 280.0)
  %5 "a" : f32[3] = map[%1, %3, %4]($0 * ($1 / 280.0 - $2*$2))
  %6 "whole" : f32[3, 1] = view(%2)
  output %4
  output %5
  output %6
})";

TEST(JoinSums, ReadWhatTheySumOnce) {
  const Program after = joined(kStatistics);
  int sums = 0;
  for (const Statement &statement : after.statements)
    if (const auto *body = std::get_if<Contraction>(&statement.body);
        body != nullptr && body->agg == Agg::Sum) {
      EXPECT_EQ(after[statement.out].shape, (Shape{2, 3}));
      ++sums;
    }
  EXPECT_EQ(sums, 1) << to_text(after);
}

TEST(JoinSums, SumsOfTheirPartsAreJoinedToo) {
  const Program after = joined(R"(program "p" {
  input %0 "x" : f32[32, 3, 20]
  %1 "i" : f32[32, 3] = sum[n, c, x](%0[n, c, x]) -> [n, c]
  %2 "j" : f32[32, 3] = sum[n, c, x](%0[n, c, x] * %0[n, c, x]) -> [n, c]
  %3 "s" : f32[3] = sum[n, c](%1[n, c]) -> [c]
  %4 "q" : f32[3] = sum[n, c](%2[n, c]) -> [c]
  output %3
  output %4
})");
  EXPECT_EQ(after[after.statements[1].out].shape, (Shape{2, 3})) << to_text(after);
}

TEST(JoinSums, OthersStay) {
  for (const char *text : {R"(program "p" {
  input %0 "x" : f32[40, 3]
  input %1 "y" : f32[40, 3]
  %2 "s" : f32[3] = sum[n, c](%0[n, c]) -> [c]
  %3 "q" : f32[3] = sum[n, c](%1[n, c]) -> [c]
  output %2
  output %3
})",
                           R"(program "p" {
  input %0 "x" : f32[40, 3]
  %1 "s" : f32[3] = sum[n, c](%0[n, c]) -> [c]
  %2 "d" : f32[40, 3] = map[%0, %1]($0 - $1)
  %3 "q" : f32[3] = sum[n, c](%0[n, c] * %2[n, c]) -> [c]
  output %3
})"})
    EXPECT_EQ(to_text(joined(text)), to_text(testing::program_of(text)));
}

TEST(MergeSums, OfAnotherSumAlone) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[4, 3, 5]
  input %1 "m" : f32[3]
  %2 "i" : f32[4, 3] = sum[n, c, x](($0 - $1) * $0 of %0[n, c, x], %1[c]) -> [n, c]
  %3 "s" : f32[3] = sum[c, n](%2[n, c]) -> [c]
  output %3
})");
  const Program after = merge_sums(before);
  EXPECT_EQ(after.statements.size(), 1U);
  EXPECT_EQ(testing::run(after), testing::run(before));
  Program kept = before;
  kept.outputs.push_back(TensorId{2});
  EXPECT_EQ(merge_sums(kept).statements.size(), 2U);
}

// Matrix units compute the products, and each filter is read for many pixels; positions drop points.
TEST(MergeSums, ProductsAndPicksStay) {
  for (const char *text : {R"(program "p" {
  input %0 "x" : f32[2, 3, 6, 6]
  input %1 "w" : f32[4, 3, 3, 3]
  %2 "y" : f32[2, 4, 4, 4] = sum[n, m, y, x, c, r, s](%0[n, c, y + r, x + s] * %1[m, c, r, s]) -> [n, m, y, x]
  %3 "pooled" : f32[2, 4] = sum[n, m, y, x](%2[n, m, y, x]) -> [n, m]
  output %3
})",
                           R"(program "p" {
  input %0 "a" : f32[4, 5]
  input %1 "b" : f32[5, 6]
  %2 "c" : f32[4, 6] = sum[i, j, k](%0[i, k] * %1[k, j]) -> [i, j]
  %3 "s" : f32[4] = sum[i, j](%2[i, j]) -> [i]
  output %3
})",
                           R"(program "p" {
  input %0 "x" : f32[4, 3, 5]
  input %1 "j" : i32[4]
  %2 "picked" : f32[4, 5] = sum[o, a, i](%0[o, a, i] at a == %1[o]) -> [o, i]
  %3 "s" : f32[4] = sum[o, i](%2[o, i]) -> [o]
  output %3
})"}) {
    const Program before = testing::program_of(text);
    EXPECT_EQ(to_text(merge_sums(before)), to_text(before));
  }
}

} // namespace
} // namespace tilefuse::program
