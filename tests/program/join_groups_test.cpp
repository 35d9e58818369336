// SPDX-License-Identifier: Apache-2.0
// Groups of few channels that are joined: the same values, and only where they are meant.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/join_groups.h"

namespace tilefuse::program {
namespace {

// Channels as dimensions, as numbers, more features than channels.
constexpr const char *kProducts[] = {
    R"(program "p" {
  input %0 "x" : f16[2, 16, 4, 5]
  const %1 "w" : f16[16, 4, 4, 3]
  %2 "y" : f16[2, 16, 4, 5] = sum[n, g, m, x, c, s](%0[n, g, c, x + s - 1] * %1[g, m, c, s]) -> [n, g, m, x]
  output %2
})",
    R"(program "p" {
  input %0 "x" : f16[2, 5, 32]
  const %1 "w" : f16[48, 3, 4]
  %2 "y" : f16[2, 5, 48] = sum[n, x, g, m, s, c](%0[n, x + s - 1, 4*g + c] * %1[6*g + m, s, c]) -> [n, x, 6*g + m] where 0 <= m < 6
  output %2
})",
    R"(program "p" {
  input %0 "x" : i8[2, 5, 6, 16]
  const %1 "w" : i8[6, 2, 16]
  %2 "y" : i32[2, 5, 6, 2] = sum[n, x, g, m, c](%0[n, x, g, c] * %1[g, m, c]) -> [n, x, g, m]
  output %2
})"};

TEST(JoinGroups, GivesTheSameValues) {
  for (const char *text : kProducts) {
    const Program before = testing::program_of(text);
    const JoinedGroups after = join_groups(before, 64);
    EXPECT_EQ(after.products, 1) << text;
    EXPECT_EQ(testing::run(after.program), testing::run(before)) << to_text(after.program);
  }
}

TEST(JoinGroups, LeavesOthersAlone) {
  const auto products = [](std::string text, const std::string &from, const std::string &to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
      text.replace(at, from.size(), to);
    return join_groups(testing::program_of(text), 64).products;
  };
  EXPECT_EQ(products(kProducts[0], "f16", "f32"), 0);
  EXPECT_EQ(products(kProducts[0], "const", "input"), 0); // a filter that is not known
  EXPECT_EQ(products(R"(program "p" {
  input %0 "x" : f16[2, 5, 16]
  const %1 "w" : f16[16, 3]
  %2 "y" : f16[2, 5, 16] = sum[n, x, g, s](%0[n, x + s - 1, g] * %1[g, s]) -> [n, x, g]
  output %2
})",
                     "@", ""),
            0); // a channel to a group
}

} // namespace
} // namespace tilefuse::program
