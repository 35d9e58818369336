// SPDX-License-Identifier: Apache-2.0
// Sums over what a maximum's winners are given add up where it comes from.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

#include "base/index.h"
#include "program/program.h"
#include "program/reference.h"
#include "program/rewrite/sum_winners.h"

namespace tilefuse::program {
namespace {

// A max-pool's gradient, and what reads it: %7 is given. %2 are the ranks.
Program pooled(const std::string &readers) {
  Program program = testing::program_of(R"(program "p" {
  input %0 "x" : f32[2, 3, 9, 9]
  input %1 "dy" : f32[2, 3, 5, 5]
  const %2 "rank" : u8[3, 3] hash "00"
  input %3 "z" : f32[2, 3, 9, 9]
  input %4 "shift" : f32[3, 1, 1]
  %5 "y" : f32[2, 3, 5, 5] = max[n, c, y, x, j, i](%0[n, c, 2*y + j - 1, 2*x + i - 1]) -> [n, c, y, x] where 0 <= j < 3, 0 <= i < 3
  %6 "winner" : u8[2, 3, 5, 5] = max[n, c, y, x, j, i](%0[n, c, 2*y + j - 1, 2*x + i - 1] == %5[n, c, y, x] ? %2[j, i]) -> [n, c, y, x] where 0 <= j < 3, 0 <= i < 3
  %7 "dx" : f32[2, 3, 9, 9] = sum[n, c, y, x, j, i](%6[n, c, y, x] == %2[j, i] ? %1[n, c, y, x]) -> [n, c, 2*y + j - 1, 2*x + i - 1] where 0 <= j < 3, 0 <= i < 3
)" + readers + "}\n");
  auto data = std::make_shared<Bytes>();
  for (int rank = 9; rank > 0; --rank)
    data->push_back(static_cast<std::byte>(rank));
  program[TensorId{2}].data = std::move(data);
  return program;
}

// Whether sums over all places are left in the changed program, which gives what the given one gives.
bool keeps_sums(const std::string &readers) {
  const Program before = pooled(readers);
  const Program after = sum_winners(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  bool keeps = false;
  for (const Statement &statement : after.statements)
    if (const auto *body = std::get_if<Contraction>(&statement.body);
        body != nullptr && body->comb != Comb::Select)
      for (const TensorId id : reads(statement))
        keeps = keeps || (after[id].name == "dx" && body->agg == Agg::Sum);
  return keeps;
}

const std::string kMap =
    "  %9 \"r\" : f32[2, 3, 9, 9] = map[%7, %3]($0 * 2.0 + $1)\n  output %8\n  output %9\n";

TEST(SumWinners, OfWhatIsGivenAndOfProducts) {
  EXPECT_FALSE(keeps_sums("  %8 \"s\" : f32[3] = sum[n, c, y, x](%7[n, c, y, x]) -> [c]\n" + kMap));
  EXPECT_FALSE(keeps_sums(
      "  %8 \"s\" : f32[3] = sum[n, c, y, x](%7[n, c, y, x] * %3[n, c, y, x]) -> [c]\n" + kMap));
  EXPECT_FALSE(keeps_sums(
      "  %8 \"s\" : f32[3, 2] = sum[n, c, y, x](select($1 == 0, neg($0) * ($2 - $1), $0) of "
      "%7[n, c, y, x], %4[c, 0, 0], %3[n, c, y, x]) -> [c, n]\n" +
      kMap));
}

TEST(SumWinners, OthersStay) {
  // By place, not linear, read elsewhere, read by no map, or by several.
  EXPECT_TRUE(
      keeps_sums("  %8 \"s\" : f32[3, 9] = sum[n, c, y, x](%7[n, c, y, x]) -> [c, y]\n" + kMap));
  EXPECT_TRUE(keeps_sums(
      "  %8 \"s\" : f32[3] = sum[n, c, y, x](max($0, 0) of %7[n, c, y, x]) -> [c]\n" + kMap));
  EXPECT_TRUE(keeps_sums(
      "  %8 \"s\" : f32[3] = sum[n, c, y, x](%7[n, c, y, x] * %3[n, c, x, y]) -> [c]\n" + kMap));
  EXPECT_TRUE(
      keeps_sums("  %8 \"s\" : f32[3] = sum[n, c, y, x](%7[n, c, y, x]) -> [c]\n  output %8\n"));
  EXPECT_TRUE(keeps_sums("  %8 \"s\" : f32[3] = sum[n, c, y, x](%7[n, c, y, x]) -> [c]\n" + kMap +
                         "  output %7\n"));
}

} // namespace
} // namespace tilefuse::program
