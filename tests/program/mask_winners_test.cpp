// SPDX-License-Identifier: Apache-2.0
// Masks of what a maximum's winners are given stand in front of it.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/index.h"
#include "program/program.h"
#include "program/reference.h"
#include "program/rewrite/mask_winners.h"

namespace tilefuse::program {
namespace {

// The gradient of a ReLU behind that of a max-pool; %2 are the ranks.
std::string pooled(const std::string &mask, const std::string &also = "") {
  return R"(program "p" {
  input %0 "x" : f32[2, 9, 9]
  input %1 "dy" : f32[2, 5, 5]
  const %2 "rank" : u8[3, 3] hash "00"
  %3 "r" : f32[2, 9, 9] = map[%0](max($0, 0))
  %4 "y" : f32[2, 5, 5] = max[c, y, x, j, i](%3[c, 2*y + j - 1, 2*x + i - 1]) -> [c, y, x] where 0 <= j < 3, 0 <= i < 3
  %5 "winner" : u8[2, 5, 5] = max[c, y, x, j, i](%3[c, 2*y + j - 1, 2*x + i - 1] == %4[c, y, x] ? %2[j, i]) -> [c, y, x] where 0 <= j < 3, 0 <= i < 3
  %6 "given" : f32[2, 9, 9] = sum[c, y, x, j, i](%5[c, y, x] == %2[j, i] ? %1[c, y, x]) -> [c, 2*y + j - 1, 2*x + i - 1] where 0 <= j < 3, 0 <= i < 3
  %7 "dx" : f32[2, 9, 9] = map)" +
         mask + "\n  output %7\n" + also + "}\n";
}

Program with_ranks(const std::string &text, const std::vector<std::uint8_t> &ranks) {
  Program program = testing::program_of(text);
  auto data = std::make_shared<Bytes>();
  for (const std::uint8_t rank : ranks)
    data->push_back(static_cast<std::byte>(rank));
  program[TensorId{2}].data = std::move(data);
  return program;
}

const std::vector<std::uint8_t> kRanks = {9, 8, 7, 6, 5, 4, 3, 2, 1};

// The changed program, which gives what the given one gives.
Program changed(const std::string &text, const std::vector<std::uint8_t> &ranks = kRanks) {
  const Program before = with_ranks(text, ranks);
  Program after = mask_winners(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  return after;
}

bool reads_pixels_twice(const Program &program) {
  int readers = 0;
  for (const Statement &statement : program.statements)
    for (const TensorId id : reads(statement))
      readers += program[id].shape == Shape{2, 9, 9} && program[id].name == "r" ? 1 : 0;
  return readers > 2; // the maximum and its winner
}

TEST(MaskWinners, StandInFrontOfThem) {
  for (const char *mask : {"[%6, %3](select($1 > 0, $0, 0))", "[%3, %6](select($0 < 1, 0, $1))"}) {
    const Program after = changed(pooled(mask));
    ASSERT_EQ(after.statements.size(), 5U) << to_text(after);
    EXPECT_FALSE(reads_pixels_twice(after)) << to_text(after);
    const Statement &masked = after.statements[3];
    ASSERT_TRUE(std::holds_alternative<Map>(masked.body)) << to_text(after);
    EXPECT_EQ(after[masked.out].shape, (Shape{2, 5, 5}));
  }
}

TEST(MaskWinners, OtherMapsStay) {
  for (const char *mask : {"[%6, %3]($0 * $1)", "[%6, %3](select($1 > 0, $0, 1))",
                           "[%6, %0](select($1 > 0, $0, 0))", "[%6, %3](select($0 > $1, $0, 0))"})
    EXPECT_TRUE(std::holds_alternative<Map>(changed(pooled(mask)).statements.back().body)) << mask;
}

TEST(MaskWinners, WhatIsReadUnmaskedStays) {
  const Program after = changed(pooled("[%6, %3](select($1 > 0, $0, 0))", "  output %6\n"));
  EXPECT_TRUE(reads_pixels_twice(after)) << to_text(after);
}

TEST(MaskWinners, RanksTellPointsApart) {
  const std::string text = pooled("[%6, %3](select($1 > 0, $0, 0))");
  EXPECT_TRUE(reads_pixels_twice(changed(text, {9, 8, 7, 6, 5, 4, 3, 2, 2})));
  EXPECT_TRUE(reads_pixels_twice(changed(text, {8, 7, 6, 5, 4, 3, 2, 1, 0})));
}

} // namespace
} // namespace tilefuse::program
