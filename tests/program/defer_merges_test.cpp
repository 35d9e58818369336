// SPDX-License-Identifier: Apache-2.0
// Maps behind views that merge a product's dimensions: the same values, in the product's shape.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/defer_merges.h"

namespace tilefuse::program {
namespace {

// Two maps behind groups, with a number per channel and a residual.
constexpr const char *kGroups = R"(program "p" {
  input %0 "x" : f32[2, 3, 2, 5]
  input %1 "z" : f32[2, 12, 5]
  const %2 "w" : f32[3, 4, 2, 3]
  const %3 "b" : f32[12, 1]
  %4 "t" : f32[2, 3, 4, 5] = sum[n, g, m, x, c, s](%0[n, g, c, x + s - 1] * %2[g, m, c, s]) -> [n, g, m, x]
  %5 "o" : f32[2, 12, 5] = view(%4)
  %6 "y" : f32[2, 12, 5] = map[%5, %3](max($0 + $1, 0))
  %7 "v" : f32[2, 12, 5] = map[%1, %6, %6]($0 + $1 * $2)
  output %7
})";

std::string changed(std::string text, const std::string &from, const std::string &to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::size_t maps_in(const Program &program, std::size_t rank) {
  std::size_t count = 0;
  for (const Statement &statement : program.statements)
    if (std::holds_alternative<Map>(statement.body) && program[statement.out].shape.size() == rank)
      ++count;
  return count;
}

TEST(DeferMerges, ComputesMapsInTheProductsShape) {
  for (const std::string &text :
       {std::string(kGroups),
        changed(kGroups, "map[%5, %3](max($0 + $1, 0))", "map[%5](max($0, 0))"),
        changed(changed(kGroups, "f32[12, 1]", "f32[1]"), "f32[2, 12, 5]\n  const",
                "f32[1, 5]\n  const")}) {
    const Program before = testing::program_of(text);
    const Program after = defer_merges(before);
    EXPECT_EQ(maps_in(after, 4), text.find("$1 * $2") == std::string::npos ? 1u : 2u) << text;
    EXPECT_EQ(maps_in(after, 3), 0u) << to_text(after);
    EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  }
}

TEST(DeferMerges, LeavesOthersAlone) {
  for (const std::string &text : {
           changed(kGroups, "output %7", "output %5\n  output %7"), // the sum is needed
           changed(kGroups, "map[%1, %6, %6]", "map[%1, %6, %5]"),  // read twice
       }) {
    const Program before = testing::program_of(text);
    EXPECT_EQ(maps_in(defer_merges(before), 4), 0u) << text;
  }
}

} // namespace
} // namespace tilefuse::program
