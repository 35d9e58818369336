// SPDX-License-Identifier: Apache-2.0
// Operands that stream through registers: every number of them, direct, packed and staged, on
// work-items and vectors, against the nest evaluator. What cannot stream is refused
// with a reason.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "lower/algorithm_cases.h"
#include "schedule/legal.h"
#include "schedule/text.h"

namespace tilefuse {
namespace {

constexpr std::string_view kItems = "schedule ilpm workitem\n  tile n:1 y:2 x:2 m:16 c:4\n"
                                    "  lane m:16\n  reg y:2 x:2 r:3 s:3\n  loop n y x m c r s\n";
constexpr std::string_view kVectors = "schedule nest vector\n  tile n:1 y:5 x:4 m:24\n  lane m:8\n"
                                      "  reg x:2 s:3\n  loop n m x y r c s\n";

void expect_exact(const nest::Nest &nest, const schedule::Schedule &schedule) {
  testing::expect_exact(nest, schedule,
                        schedule.lanes == LaneKind::Vector ? testing::vector_test_target()
                                                           : testing::group_test_target());
}

std::string refusal(std::string_view lines) {
  const nest::Nest nest = testing::padded_conv();
  const schedule::Schedule schedule =
      schedule::parse_schedule(nest, std::string(kItems) + std::string(lines));
  return illegal(nest, schedule, testing::group_test_target()).value_or("legal");
}

TEST(Stream, EveryNumberOfRegistersComputesItsNest) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *fills :
       {"stage 0 at c\n pack 1\n", "stage 0 at c transposed stages 2\n", "stage 0\n"})
    for (const int registers : {2, 4})
      for (const char *streams : {"pipeline 1 registers {0}\n", "pipeline 0 registers {0}\n",
                                  "pipeline 0 registers {0}\n pipeline 1 registers {0}\n"}) {
        const bool both = std::string(streams).find("0 registers") != std::string::npos;
        if (both && registers == 4)
          continue; // 144 values
        expect_exact(nest, schedule::parse_schedule(
                               nest, std::string(kItems) + fills +
                                         fmt::format(fmt::runtime(streams), registers)));
      }
}

TEST(Stream, VectorsStreamToo) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *fills : {"stage 0\n pack 1\n", "stage 0\n"})
    for (const int registers : {2, 3, 4})
      for (const int input : {0, 1})
        expect_exact(nest,
                     schedule::parse_schedule(
                         nest, std::string(kVectors) + fills +
                                   fmt::format("pipeline {} registers {}\n", input, registers)));
}

// A bias along the reduced index is the same in all lanes, which other fragments hold once.
TEST(Stream, TermsStreamWhatIsTheSameInAllLanes) {
  const nest::Nest nest = nest::parse_nest(R"(nest terms {
    index p 36 | a 12
    slot 0 f32 432, 1 f32 12, 2 f32 36
    acc f32 = max term
    in 0 + 0 [p:36*12, a:12*1]
    in 1 + 0 [a:12*1]
    term $0 + $1
    out 2 + 0 [p:36*1]
    post acc
  })");
  for (const int input : {0, 1})
    expect_exact(nest, schedule::parse_schedule(
                           nest, fmt::format("schedule nest vector\n  tile p:32\n  lane p:8\n"
                                             "  reg p:2\n  loop p a\n  pipeline {} registers 2\n",
                                             input)));
}

TEST(Stream, WhatCannotStreamIsRefused) {
  EXPECT_EQ(refusal("pipeline 1 registers 4\n"), "legal");
  EXPECT_EQ(refusal("pipeline 1 registers 3\n"),
            "input 1 streams through 3 registers, which do not divide the 4 bodies of c");
  EXPECT_EQ(refusal("pipeline 1 registers 9\n"),
            "input 1 streams through 9 registers; need 2 to 8");
  EXPECT_EQ(refusal("pipeline 1 registers 2\nstream 0 registers 4\n"),
            "input 0 would hold 144 values in registers; 128 at most");
  EXPECT_EQ(refusal("reg c:4\nstream 1 registers 2\n"),
            "an input streams, but no reduced index is looped over");
}

} // namespace
} // namespace tilefuse
