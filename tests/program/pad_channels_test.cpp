// SPDX-License-Identifier: Apache-2.0
// Channels that are padded: the same values, and only where they are meant.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/pad_channels.h"

namespace tilefuse::program {
namespace {

// Channels last, channels first, a product without a window.
constexpr const char *kProducts[] = {
    R"(program "p" {
  input %0 "x" : f16[1, 4, 5, 7]
  const %1 "w" : f16[6, 3, 3, 7]
  %2 "y" : f16[1, 4, 5, 6] = sum[n, y, x, m, r, s, c](%0[n, y + r - 1, x + s - 1, c] * %1[m, r, s, c]) -> [n, y, x, m]
  output %2
})",
    R"(program "p" {
  input %0 "x" : i8[2, 9, 5]
  const %1 "w" : i8[24, 9, 3]
  %2 "y" : i32[2, 24, 5] = sum[n, m, x, c, s](%0[n, c, x + s - 1] * %1[m, c, s]) -> [n, m, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[4, 11]
  const %1 "w" : f16[11, 40]
  %2 "y" : f16[4, 40] = sum[n, m, c](%0[n, c] * %1[c, m]) -> [n, m]
  output %2
})"};

TEST(PadChannels, GivesTheSameValues) {
  for (const char *text : kProducts) {
    const Program before = testing::program_of(text);
    const PaddedChannels after = pad_channels(before);
    EXPECT_EQ(after.products, 1) << text;
    EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  }
}

TEST(PadChannels, ToWholeChunks) {
  const PaddedChannels after = pad_channels(testing::program_of(kProducts[1]));
  const auto &body = std::get<Contraction>(after.program.statements.back().body);
  EXPECT_EQ(after.program[body.in[0].tensor].shape, (Shape{2, 5, 16}));
  EXPECT_EQ(after.program[body.in[1].tensor].shape, (Shape{24, 3, 16}));
}

TEST(PadChannels, ConvertsWhereItStores) {
  const Program before = testing::program_of(R"(program "p" {
  input %0 "x" : f32[1, 7, 4, 5]
  const %1 "w" : f16[6, 7, 3, 3]
  %2 "h" : f16[1, 7, 4, 5] = map[%0](f16($0))
  %3 "y" : f16[1, 6, 4, 5] = sum[n, m, y, x, c, r, s](%2[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  output %3
})");
  const Program after = pad_channels(before).program;
  ASSERT_EQ(after.statements.size(), 2U);
  const Statement &stored = after.statements[0];
  EXPECT_EQ(after[stored.out].type, DType::F16);
  EXPECT_EQ(reads(stored), std::vector<TensorId>{after.inputs[0]});
  EXPECT_EQ(testing::run(after), testing::run(before));
}

TEST(PadChannels, LeavesOthersAlone) {
  const auto products = [](std::string text, const std::string &from, const std::string &to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, from.size(), to);
    return pad_channels(testing::program_of(text)).products;
  };
  EXPECT_EQ(products(kProducts[0], "f16", "f32"), 0);
  EXPECT_EQ(products(kProducts[0], ", 7]", ", 8]"), 0);   // aligned
  EXPECT_EQ(products(kProducts[0], "const", "input"), 0); // a filter that is not known
  EXPECT_EQ(products(kProducts[2], "40]", "4]"), 0);      // little work
  EXPECT_EQ(products(R"(program "p" {
  input %0 "x" : f16[2, 8, 8, 24, 1]
  const %1 "w" : f16[24, 2, 7, 7, 1]
  %2 "y" : f16[2, 2, 2, 24, 2] = sum[n, y, x, g, m, r, s, c](%0[n, y + r, x + s, g, c] * %1[g, m, r, s, c]) -> [n, y, x, g, m]
  output %2
})",
                     "@", ""),
            0); // a channel a group
  // Channels in blocks of 32, of which there are 2.
  EXPECT_EQ(products(R"(program "p" {
  input %0 "x" : i8[2, 2, 5, 32]
  const %1 "w" : i8[2, 3, 64, 32]
  %2 "y" : i32[2, 64, 5] = sum[n, m, x, co, s, ci](%0[n, co, x + s - 1, ci] * %1[co, s, m, ci]) -> [n, m, x]
  output %2
})",
                     "@", ""),
            0);
}

} // namespace
} // namespace tilefuse::program
