// SPDX-License-Identifier: Apache-2.0
// Reduced indices that are dealt over lanes: every aggregation, type and way to deal them, odd
// extents, windows with padding and constraints, several results per block, against the nest
// evaluator. What cannot be dealt is refused with a reason.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/algorithm_cases.h"
#include "lower/pipeline.h"
#include "schedule/lane_reduction.h"
#include "schedule/legal.h"
#include "schedule/text.h"

namespace tilefuse {
namespace {

// `rows` rows of `points` elements, each with a bias and a ReLU.
nest::Nest rows(std::int64_t rows, std::int64_t points, std::string_view agg, std::string_view type,
                std::string_view sum) {
  const std::string text = fmt::format(R"(nest reduce {{
    index o {0} | a {1}
    slot 0 {3} {2}, 1 {4} {0}, 2 {3} {0}
    acc {4} = {5}
    in 0 + 0 [o:{0}*{1}, a:{1}*1]
    out 1 + 0 [o:{0}*1]
    extra 2 + 0 [o:{0}*1]
    post max(acc + $0, 0)
  }})",
                                       rows, points, rows * points, type, sum, agg);
  return nest::parse_nest(text);
}

void expect_exact(const nest::Nest &nest, const std::string &lines,
                  const Target &target = testing::group_test_target()) {
  const std::string text = fmt::format("schedule rows {}\n{}", to_string(target.lanes), lines);
  testing::expect_exact(nest, schedule::parse_schedule(nest, text), target);
}

std::string refusal(const nest::Nest &nest, const std::string &lines,
                    const Target &target = testing::group_test_target()) {
  const auto schedule = schedule::parse_schedule(
      nest, fmt::format("schedule rows {}\n{}", to_string(target.lanes), lines));
  return illegal(nest, schedule, target).value_or("legal");
}

TEST(LaneReduction, OddRowsOfEveryAggregation) {
  for (const char *agg : {"sum", "max", "min"})
    for (const std::int64_t points : {49, 197, 768, 1000})
      for (const char *lines :
           {"tile o:1\n lane a:32\n loop o a\n", "tile o:4\n lane o:4 a:16\n reg a:2\n loop o a\n",
            "tile o:4\n lane a:12 o:2\n reg o:2 a:3\n loop o a\n",
            "tile o:8\n lane a:3 o:2 a:5\n loop o a\n"})
        expect_exact(rows(7, points, agg, "f16", "f32"), lines);
}

TEST(LaneReduction, VectorsOfARow) {
  for (const char *type : {"f16", "bf16", "f32"})
    for (const std::int64_t points : {96, 768, 1000})
      for (const char *lines : {"tile o:1\n lane a:4\n vec a:8\n loop o a\n",
                                "tile o:4\n vec a:8\n reg a:3\n loop o a\n",
                                "tile o:4\n lane o:4 a:6\n vec a:4\n reg a:2\n loop o a\n"})
        expect_exact(rows(5, points, "sum", type, "f32"), lines);
}

// On a CPU: the last vector of a row in part, several of them and of the rows in a step, in chunks.
TEST(LaneReduction, LanesOfProcessorVectors) {
  for (const char *agg : {"sum", "max", "min", "product"})
    for (const char *type : {"f32", "f16"})
      for (const std::int64_t points : {16, 17, 197, 240})
        for (const char *lines :
             {"tile o:1\n lane a:8\n loop o a\n", "tile o:6\n lane a:4\n reg o:3 a:2\n loop o a\n",
              "tile o:4\n lane a:16\n reg o:4\n loop o a\n"})
          if (agg != std::string_view("product") || points < 100)
            expect_exact(rows(7, points, agg, type, "f32"), lines, testing::vector_test_target());
  expect_exact(rows(9, 60, "sum", "i8", "i32"), "tile o:2\n lane a:16\n reg o:2\n loop o a\n",
               testing::vector_test_target());
  expect_exact(rows(9, 240, "max", "i32", "i32"), "tile o:2 a:80\n lane a:8\n reg a:5\n loop o a\n",
               testing::vector_test_target());
}

// Where no value of the operands makes a term leave the sum alone, as in the sum of a softmax.
TEST(LaneReduction, TermsOfRowsThatEndWithinAVector) {
  for (const char *agg : {"sum", "max", "min"})
    for (const std::int64_t points : {16, 17, 197})
      for (const char *lines :
           {"tile o:1\n lane a:8\n loop o a\n", "tile o:6\n lane a:4\n reg o:3 a:2\n loop o a\n",
            "tile o:4\n lane a:16\n reg o:4\n loop o a\n"}) {
        const std::string text = fmt::format(R"(nest terms {{
          index o 7 | a {0}
          slot 0 f32 {1}, 1 f32 7, 2 f32 7
          acc f32 = {2} term
          in 0 + 0 [o:7*{0}, a:{0}*1]
          in 1 + 0 [o:7*1, 0:1*1]
          term select($0 < $1, $0 + 3, $1 - 40)
          out 2 + 0 [o:7*1]
          post acc
        }})",
                                             points, 7 * points, agg);
        expect_exact(nest::parse_nest(text), lines, testing::vector_test_target());
      }
}

TEST(LaneReduction, IntegersAndProducts) {
  for (const char *lines :
       {"tile o:4\n lane o:4 a:8\n loop o a\n", "tile o:3\n lane a:5\n vec a:4\n loop o a\n"}) {
    expect_exact(rows(9, 60, "sum", "i8", "i32"), lines);
    expect_exact(rows(9, 60, "max", "i32", "i32"), lines);
    expect_exact(rows(9, 20, "product", "f32", "f32"), lines);
  }
}

TEST(LaneReduction, StagedAndInChunks) {
  const nest::Nest nest = rows(6, 120, "sum", "f16", "f32");
  for (const char *lines :
       {"tile o:4 a:40\n lane o:2 a:8\n reg o:2\n loop o a\n stage 0 at a\n",
        "tile o:4 a:40\n lane o:4 a:8\n vec a:2\n loop o a\n stage 0 at a stages 2\n",
        "tile o:4\n lane a:16\n loop o a\n stage 0\n", "tile o:2 a:60\n lane o:2 a:7\n loop o a\n"})
    expect_exact(nest, lines);
}

// Of a window its taps and its channels, of a product its depth; packed constants too.
TEST(LaneReduction, WindowsAndProducts) {
  const nest::Nest nest = testing::padded_conv();
  for (const char *lines :
       {"tile n:1 y:1 x:7 m:8\n lane m:8 c:4\n loop n y x m r s c\n",
        "tile n:1 y:1 x:2 m:4\n lane c:4 s:3\n reg m:4\n loop n y x m r c s\n pack 1\n",
        "tile n:1 y:1 x:4 m:2\n lane x:4 c:3\n vec c:4\n loop n y x m r s c\n stage 0\n",
        "tile n:1 y:2 x:4 m:24\n lane m:6 r:3\n vec m:4\n loop n y x m c r s\n stage 0\n"})
    expect_exact(nest, lines);
}

TEST(LaneReduction, ConstraintsHold) {
  const nest::Nest nest = nest::parse_nest(R"(nest window {
    index o 6 | a 50
    slot 0 f32 60, 1 f32 6
    acc f32 = sum
    in 0 + 0 [o + a - 2:60?*1]
    where o + a - 7 < 30
    out 1 + 0 [o:6*1]
    post acc
  })");
  expect_exact(nest, "tile o:2\n lane o:2 a:16\n loop o a\n");
  EXPECT_EQ(refusal(nest, "tile o:2\n lane o:2\n vec a:2\n loop o a\n"),
            "a constraint depends on the vector's lanes");
}

// Barriers of a tree of five rounds, once for each step.
TEST(LaneReduction, RoundsHalveWhatIsLeft) {
  const nest::Nest nest = rows(8, 96, "sum", "f32", "f32");
  const auto dealt = schedule::parse_schedule(
      nest, "schedule rows workitem\n tile o:4\n lane o:4 a:24\n loop o a\n");
  std::vector<std::int64_t> apart;
  for (const schedule::LaneRound &round : lane_rounds(nest, dealt))
    apart.push_back(round.apart);
  EXPECT_EQ(apart, (std::vector<std::int64_t>{12, 6, 3, 2, 1}));
  EXPECT_EQ(schedule::lane_buffer_bytes(nest, dealt), 4 * 96);
}

// Of copies that no row needs there are none: five rows over four work-items are two each, not 16.
TEST(LaneReduction, TheBufferHoldsWhatIsKept) {
  const nest::Nest nest = rows(5, 96, "sum", "f32", "f32");
  constexpr const char *kLines = "tile o:64\n lane o:4 a:8\n reg o:16\n loop o a\n";
  const auto dealt =
      schedule::parse_schedule(nest, fmt::format("schedule rows workitem\n {}", kLines));
  EXPECT_EQ(schedule::lane_buffer_elems(nest, dealt), 4 * 8 * 2);
  expect_exact(nest, kLines);
}

// Copies past all numbers need more memory than there is.
TEST(LaneReduction, TheBufferOfTooManyCopiesIsRefused) {
  const nest::Nest nest = nest::parse_nest(R"(nest reduce {
    index o 2, p 2, q 2, t 2 | a 64
    slot 0 f32 1024, 1 f32 16
    acc f32 = sum
    in 0 + 0 [o:2*512, p:2*256, q:2*128, t:2*64, a:64*1]
    out 1 + 0 [o:2*8, p:2*4, q:2*2, t:2*1]
    post acc
  })");
  EXPECT_NE(refusal(nest, "tile o:65536 p:65536 q:65536 t:65536\n lane a:8\n "
                          "reg o:65536 p:65536 q:65536 t:65536\n blocked o p q t\n "
                          "loop o p q t a\n"),
            "legal");
}

TEST(LaneReduction, WhatCannotBeDealtIsRefused) {
  const nest::Nest nest = rows(8, 100, "sum", "f32", "f32");
  EXPECT_EQ(refusal(nest, "tile o:4\n lane o:4 a:8\n vec a:8\n loop o a\n"),
            "vectors of 8 do not divide reduced index a");
  EXPECT_EQ(refusal(nest, "tile o:8\n lane a:8\n vec o:4 a:4\n loop o a\n"),
            "two indices have vectors");
  EXPECT_EQ(refusal(nest, "tile o:1\n lane a:64\n reg a:2\n loop o a\n"),
            "a is unrolled past its chunk");
  EXPECT_EQ(refusal(nest, "tile o:4\n lane o:4 a:8\n loop o a\n pipeline 0 registers 2\n"),
            "an input streams beside lanes of a reduced index");
  EXPECT_EQ(
      refusal(nest, "tile o:4\n lane a:8\n loop o a\n stage 0\n", testing::vector_test_target()),
      "input 0 is staged and read in vectors of reduced index a");
}

} // namespace
} // namespace tilefuse
