// SPDX-License-Identifier: Apache-2.0
// Concatenations that begin as earlier ones do: which take those over, that values stay, and that
// all then lie in one buffer.
#include <gtest/gtest.h>

#include <algorithm>

#include "program/reference.h"
#include "program/rewrite/share_concatenations.h"
#include "program/storage/storage.h"

namespace tilefuse::program {
namespace {

Program shared(const std::string &text) {
  const Program before = testing::program_of(text.c_str());
  Program after = share_concatenations(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  return after;
}

std::size_t copies(const Program &program) {
  return static_cast<std::size_t>(
      std::ranges::count_if(program.statements, [](const Statement &statement) {
        return std::holds_alternative<Contraction>(statement.body);
      }));
}

// Three layers, each of which reads all that were before; `last` reads the last concatenation.
std::string dense_block(const std::string &last) {
  return R"(program "p" {
  input %0 "x" : f32[2, 3, 4, 4]
  %1 "a" : f32[2, 3, 4, 4] = map[%0]($0 * 2.0)
  %2 "b" : f32[2, 5, 4, 4] = sum[n, m, y, x, c](%1[n, c, y, x]) -> [n, m, y, x]
  %3 "y" : f32[2, 8, 4, 4] = assign[a, b, c, d](%1[a, b, c, d]) -> [a, b, c, d]
  %4 "y" : f32[2, 8, 4, 4] = assign[a, b, c, d](%2[a, b, c, d]) -> [a, b + 3, c, d] init %3
  %5 "c" : f32[2, 2, 4, 4] = sum[n, m, y, x, c](%4[n, c, y, x]) -> [n, m, y, x]
  %6 "y" : f32[2, 10, 4, 4] = assign[a, b, c, d](%1[a, b, c, d]) -> [a, b, c, d]
  %7 "y" : f32[2, 10, 4, 4] = assign[a, b, c, d](%2[a, b, c, d]) -> [a, b + 3, c, d] init %6
  %8 "y" : f32[2, 10, 4, 4] = assign[a, b, c, d](%5[a, b, c, d]) -> [a, b + 8, c, d] init %7
  %9 "d" : f32[2, 1, 4, 4] = sum[n, m, y, x, c](%8[n, c, y, x]) -> [n, m, y, x]
  %10 "y" : f32[2, 11, 4, 4] = assign[a, b, c, d](%1[a, b, c, d]) -> [a, b, c, d]
  %11 "y" : f32[2, 11, 4, 4] = assign[a, b, c, d](%2[a, b, c, d]) -> [a, b + 3, c, d] init %10
  %12 "y" : f32[2, 11, 4, 4] = assign[a, b, c, d](%5[a, b, c, d]) -> [a, b + 8, c, d] init %11
  %13 "y" : f32[2, 11, 4, 4] = assign[a, b, c, d](%9[a, b, c, d]) -> [a, b + 10, c, d] init %12
  )" + last;
}

const std::string kReadsAll =
    R"(%14 "e" : f32[2, 1, 4, 4] = sum[n, m, y, x, c](%13[n, c, y, x]) -> [n, m, y, x]
  output %14
})";

TEST(ShareConcatenations, BeginWithTheLongestEarlierOne) {
  const Program after = shared(dense_block(kReadsAll));
  EXPECT_EQ(copies(after), 4u + 3 * 2) << to_text(after);
  const std::string text = to_text(after);
  EXPECT_NE(text.find("(%4[i0, i1, i2, i3])"), std::string::npos) << text;
  EXPECT_NE(text.find("(%8[i0, i1, i2, i3])"), std::string::npos) << text;
}

TEST(ShareConcatenations, LieInOneBuffer) {
  const StoredProgram stored = assign_storage(shared(dense_block(kReadsAll)));
  const auto buffer = [&](int id) { return stored.windows[static_cast<std::size_t>(id)].buffer; };
  for (const int id : {1, 2, 4, 5, 8, 9})
    EXPECT_EQ(buffer(id), buffer(13)) << id << to_text(stored);
  EXPECT_EQ(copies(stored.program), 4u) << to_text(stored);
}

TEST(ShareConcatenations, OthersStay) {
  const std::string text = R"(program "p" {
  input %0 "x" : f32[2, 3]
  input %1 "y" : f32[2, 2]
  %2 "p" : f32[2, 5] = assign[a, b](%0[a, b]) -> [a, b]
  %3 "p" : f32[2, 5] = assign[a, b](%1[a, b]) -> [a, b + 3] init %2
  %4 "q" : f32[2, 7] = assign[a, b](%0[a, b]) -> [a, b + 2]
  %5 "q" : f32[2, 7] = assign[a, b](%1[a, b]) -> [a, b] init %4
  %6 "q" : f32[2, 7] = assign[a, b](%1[a, b]) -> [a, b + 5] init %5
  %7 "r" : f32[2, 8] = assign[a, b](%0[a, b]) -> [a, b]
  %8 "r" : f32[2, 8] = assign[a, b](%1[a, b]) -> [a, b + 3] init %7
  %9 "r" : f32[2, 8] = assign[a, b](%0[a, b]) -> [a, b + 4] init %8
  output %3
  output %6
  output %9
})";
  EXPECT_EQ(to_text(shared(text)), to_text(testing::program_of(text.c_str())));
}

} // namespace
} // namespace tilefuse::program
