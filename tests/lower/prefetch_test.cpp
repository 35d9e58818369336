// SPDX-License-Identifier: Apache-2.0
// Packed inputs of which the next step is fetched ahead: results do not change, every line of the
// next step is asked for, and what cannot be fetched so is refused with a reason.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/algorithm_cases.h"
#include "lower/pipeline.h"
#include "schedule/legal.h"
#include "schedule/text.h"

namespace tilefuse {
namespace {

nest::Nest conv_nest() {
  return nest::parse_nest(R"(nest conv {
    index n 1, y 5, x 7, m 40 | c 12, r 3, s 3
    slot 0 f32 420, 1 f32 4320, 2 f32 1400
    acc f32 = sum mul
    in 0 + 0 [n:1*420, y + r - 1:5?*84, x + s - 1:7?*12, c:12*1]
    in 1 + 0 const [m:40*108, c:12*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*1400, y:5*280, x:7*40, m:40*1]
    post acc
  })");
}

constexpr std::string_view kVectors = "schedule nest vector\n  tile n:1 y:5 x:4 m:32\n  lane m:8\n"
                                      "  reg x:2 m:2 s:3\n  loop n m y x r c s\n  stage 0\n";

schedule::Schedule parse(std::string_view lines) {
  return schedule::parse_schedule(conv_nest(), std::string(kVectors) + std::string(lines));
}

std::string refusal(std::string_view lines) {
  return illegal(conv_nest(), parse(lines), testing::vector_test_target()).value_or("legal");
}

TEST(Prefetch, ResultsDoNotChange) {
  const nest::Nest nest = conv_nest();
  const schedule::Schedule schedule = parse("  pack 1\n  prefetch 1\n");
  const Target target = testing::vector_test_target();
  ASSERT_EQ(schedule::illegal(nest, schedule, target), std::nullopt);
  EXPECT_EQ(schedule::parse_schedule(nest, schedule::to_text(nest, schedule)), schedule);
  testing::Random random(3);
  const auto slots = testing::integer_slots(random, nest);
  EXPECT_EQ(testing::simulated(nest, schedule, target, slots), testing::evaluated(nest, slots));
}

// A step of 16 channels is 108 points of 64 bytes; the next is fetched in two parts of 108 lines of
// 8 elements, which steps over pixels take by turns.
TEST(Prefetch, NextStepOfTheLanes) {
  const std::string text = kernel::to_text(lower::lower(
      {conv_nest(), {}}, parse("  pack 1\n  prefetch 1\n"), testing::vector_test_target()));
  EXPECT_NE(text.find("prefetch"), std::string::npos) << text;
  EXPECT_NE(text.find("min(i_y * 2 + i_x / 2, 1)"), std::string::npos) << text;
}

TEST(Prefetch, WhatIsNotPackedBySteps) {
  EXPECT_EQ(refusal("  pack 1\n  prefetch 1\n"), "legal");
  EXPECT_EQ(refusal("  prefetch 1\n"), "input 1 is prefetched but not packed by steps of a vector");
  EXPECT_EQ(refusal("  pack 1\n  prefetch 0\n"),
            "input 0 is prefetched but not packed by steps of a vector");
}

} // namespace
} // namespace tilefuse
