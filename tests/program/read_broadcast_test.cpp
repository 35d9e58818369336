// SPDX-License-Identifier: Apache-2.0
// What is repeated along a dimension is read where it lies.
#include <gtest/gtest.h>

#include "program/program.h"
#include "program/reference.h"
#include "program/rewrite/read_broadcast.h"

namespace tilefuse::program {
namespace {

// The changed program, which gives what the given one gives.
Program changed(const std::string &text) {
  const Program before = testing::program_of(text.c_str());
  Program after = read_broadcast(before);
  EXPECT_EQ(testing::run(after), testing::run(before)) << to_text(after);
  EXPECT_EQ(to_text(parse_program(to_text(after))), to_text(after));
  return after;
}

TEST(ReadBroadcast, ThroughAViewThatAddsDimensionsOfOneElement) {
  const Program after = changed(R"(program "p" {
  input %0 "a" : f32[1, 3]
  input %1 "x" : f32[2, 3, 4, 5]
  %2 "r" : f32[2, 3] = map[%0]($0)
  %3 "v" : f32[2, 3, 1, 1] = view(%2)
  %4 "y" : f32[2, 3, 4, 5] = map[%1, %3]($0 * $1)
  %5 "z" : f32[2, 3, 4, 5] = map[%4, %3]($0 - $1)
  output %5
})");
  ASSERT_EQ(after.statements.size(), 3U) << to_text(after);
  EXPECT_EQ(after[after.statements[0].out].shape, (Shape{1, 3, 1, 1}));
  EXPECT_EQ(reads(after.statements[2])[1], after.statements[0].out);
}

TEST(ReadBroadcast, WithoutAView) {
  const Program after = changed(R"(program "p" {
  input %0 "a" : f32[3]
  input %1 "x" : f32[4, 3]
  %2 "r" : f32[2, 1, 3] = map[%0]($0)
  %3 "y" : f32[2, 4, 3] = map[%1, %2]($0 + $1)
  output %3
})");
  ASSERT_EQ(after.statements.size(), 1U) << to_text(after);
  EXPECT_EQ(reads(after.statements[0]), (std::vector{TensorId{1}, TensorId{0}}));
}

TEST(ReadBroadcast, OfWhatIsRepeatedItself) {
  const Program after = changed(R"(program "p" {
  input %0 "a" : f32[1, 3]
  input %1 "x" : f32[2, 3, 4, 5]
  %2 "r" : f32[2, 3] = map[%0]($0)
  %3 "v" : f32[2, 3, 1, 1] = view(%2)
  %4 "s" : f32[2, 3, 4, 5] = map[%3]($0)
  %5 "y" : f32[2, 3, 4, 5] = map[%1, %4]($0 * $1)
  output %5
})");
  ASSERT_EQ(after.statements.size(), 2U) << to_text(after);
  EXPECT_EQ(after[after.statements[0].out].shape, (Shape{1, 3, 1, 1}));
}

TEST(ReadBroadcast, ViewsOfOtherShapesAndOtherTypesStay) {
  const std::string regrouped = R"(program "p" {
  input %0 "a" : f32[1, 4]
  %1 "r" : f32[3, 4] = map[%0]($0)
  %2 "v" : f32[6, 2] = view(%1)
  %3 "y" : f32[6, 2] = map[%2](2*$0)
  output %3
})";
  EXPECT_EQ(changed(regrouped).statements.size(), 3U);
  const std::string rounded = R"(program "p" {
  input %0 "a" : f32[1, 4]
  %1 "r" : f16[3, 4] = map[%0](f16($0))
  %2 "y" : f32[3, 4] = map[%1](2*f32($0))
  output %2
})";
  EXPECT_EQ(changed(rounded).statements.size(), 2U);
}

} // namespace
} // namespace tilefuse::program
