// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/candidates.h"
#include "report/flat_table.h"
#include "report/layers.h"
#include "report/sections.h"
#include "report/verdict.h"
#include "search/pick.h"
#include "target/rows.h"
#include "tile/tile.h"

namespace tilefuse::report {
namespace {

// 64 x 64 x 64.
constexpr std::string_view kProduct = R"(nest gemm {
  index m 64, n 64 | k 64
  slot 0 f32 4096, 1 f32 4096, 2 f32 4096
  acc f32 = sum mul
  in 0 + 0 [m:64*64, k:64*1]
  in 1 + 0 const [k:64*64, n:64*1]
  out 2 + 0 [m:64*64, n:64*1]
  post acc
}
)";

TEST(Sections, ListsAndMistakes) {
  EXPECT_EQ(parse_sections("").size(), 6U);
  EXPECT_EQ(parse_sections("layout,flatten"), (Sections{Section::Flatten, Section::Layout}));
  EXPECT_THROW(parse_sections("layout,,flatten"), Error);
  EXPECT_THROW(parse_sections("tables"), Error);
}

TEST(FlatTable, CellsGrowWithNames) {
  const FlatTable table{
      {"i", "a_long_index"}, {3, 40}, {{"O", -7, {1, 3}}, {"a_long_tensor", 0, {0, -1}}}};
  EXPECT_EQ(to_text(table), "                 Range         O  a_long_tensor\n"
                            "           i         3         1              0\n"
                            "a_long_index        40         3             -1\n"
                            "         off                  -7              0\n");
}

TEST(FlatTable, VectorsHaveARowOfTheirOwn) {
  const FlatTable table{{"i"}, {3}, {{"O", 0, {1}, 4}, {"I", 0, {0}, 1}}};
  EXPECT_EQ(to_text(table), "             Range         O         I\n"
                            "       i         3         1         0\n"
                            "     off                   0         0\n"
                            "     vec                   4         1\n");
}

TEST(Candidates, WhatGotWorseIsNamedByGrowth) {
  const cost::Demands chosen = {{"load ports", 80e-6}, {"memory", 16e-6}, {"launch", 3e-6}};
  EXPECT_EQ(worse_demands(chosen, chosen, 100e-6), "");
  EXPECT_EQ(worse_demands({{"load ports", 80e-6}, {"staging", 16e-6}, {"launch", 3.5e-6}}, chosen,
                          100e-6),
            "staging 16 us, chosen 0");
  EXPECT_EQ(
      worse_demands({{"memory", 32e-6}, {"staging", 12e-6}, {"launch", 9e-6}}, chosen, 100e-6),
      "memory 32 us, chosen 16; staging 12 us, chosen 0");
}

TEST(Candidates, OnlyWhatDiffersIsSaid) {
  const std::string chosen = "schedule nest vector\n  tile   m:64 y:7\n  stage  0\n  pack   1\n";
  EXPECT_EQ(difference(chosen, chosen), "nothing");
  EXPECT_EQ(
      difference(chosen, "schedule nest vector\n  tile   m:64 y:14\n  stage  0\n  pack   1\n"),
      "tile y:7→14");
  EXPECT_EQ(difference(chosen,
                       "schedule nest vector\n  tile   m:32 y:7 x:2\n  pack   1\n  store local\n"),
            "tile m:64 y:7→m:32 y:7 x:2; store local added; no stage 0");
}

TEST(Candidates, OneTableBeginsWithTheChosenOne) {
  const Target target = testing::target_row("cpu_avx2");
  const poly::Group group{nest::parse_nest(kProduct)};
  const std::vector<search::Candidate> ranked = search::candidates(group.anchor, target, 3);
  const std::vector<Weighed> weighed =
      weigh(group, target, ranked[1].schedule, "tuned on this device", ranked);
  ASSERT_GT(weighed.size(), 3U);
  EXPECT_EQ(weighed[0].kind, Weighed::Kind::Chosen);
  EXPECT_EQ(weighed[0].rank, 2U);
  EXPECT_EQ(weighed[1].rank, 1U);
  const Table table = candidate_table(weighed);
  EXPECT_EQ(table.rows[0][4].text, "chosen by tuned on this device");
  EXPECT_EQ(std::get<double>(table.rows[0][2].value), *weighed[0].seconds);
  EXPECT_TRUE(table.rows.back()[4].text.starts_with("refused: "));
}

TEST(Verdicts, TimeThenBoundThenWhatToTry) {
  const std::vector<Weighed> weighed = {
      {.kind = Weighed::Kind::Chosen,
       .seconds = 20e-6,
       .demands = {{"load ports", 15e-6}, {"memory", 9e-6}, {"launch", 0.1e-6}},
       .why_not = "model"},
      {.kind = Weighed::Kind::Neighbour,
       .differs = "tile y:7→14",
       .seconds = 18e-6,
       .demands = {}}};
  const Verdict told = verdict(
      3, false, MeasuredKernel{.seconds = 40e-6, .roofline = 0.4, .limit = "memory"}, weighed);
  EXPECT_EQ(
      to_text(told),
      "measured  40.0 us on this device, 40 % of its roofline, which memory sets\n"
      "predicted 20.0 us, bound by load ports: 15.0 us, then memory 9.0\n"
      "try       --schedule FILE with tile y:7→14 (predicted gain 2.0 us)\n"
      "try       tune --kernel 3: schedules are not measured on this device yet (at most 24.0 us)\n"
      "try       doctor: it takes far longer than predicted, so the machine may be busy\n");
  EXPECT_EQ(verdict(3, true, MeasuredKernel{.seconds = 20e-6, .roofline = 0.9, .limit = "memory"},
                    weighed)
                .ideas.size(),
            1U);
}

TEST(Verdicts, WhatTuningMeasuredStandsBehindTheTime) {
  const Verdict told{.predicted = 20e-6,
                     .demands = {{"memory", 9e-6}},
                     .tuned = TunedTimes{36.1e-6, 38.2e-6, "2026-11-21"}};
  EXPECT_EQ(to_text(told),
            "tuned     36.1 us, beside 38.2 us of the model's choice, on 2026-11-21\n"
            "predicted 20.0 us, bound by memory: 9.0 us\n");
}

TEST(Verdicts, LinesFitTheTerminal) {
  const Verdict told{.predicted = 73.5e-6,
                     .demands = {{"instruction issue", 49.2e-6}, {"local memory", 38.3e-6}}};
  EXPECT_EQ(to_text(told, {.width = 50}), "predicted 73.5 us, bound by instruction issue:\n"
                                          "          49.2 us, then local memory 38.3\n");
}

Explanation explanation() {
  const auto kernel = [](const std::string &origin) {
    return ExplainedKernel{origin, [origin] { return "text of " + origin + "\n"; }};
  };
  return {kernel("Conv conv1 + Relu relu1"), kernel("Conv conv10"), kernel("Gemm fc")};
}

TEST(Layers, ByNumberNameOrPartOfIt) {
  const Explanation all = explanation();
  EXPECT_EQ(text_of(all, "1", false), "text of Conv conv10\n");
  EXPECT_EQ(text_of(all, "Relu relu1", false), "text of Conv conv1 + Relu relu1\n");
  EXPECT_EQ(text_of(all, "Conv conv1", false), "text of Conv conv1 + Relu relu1\n");
  EXPECT_EQ(text_of(all, "fc", false), "text of Gemm fc\n");
  EXPECT_EQ(text_of(all, "", true),
            "text of Conv conv1 + Relu relu1\n\ntext of Conv conv10\n\ntext of Gemm fc\n");
}

TEST(Layers, WhatIsNotThereOrNotOneIsAnErrorWithTheList) {
  for (const std::string layer : {"", "3", "-1", "99999999999999999999999", "Pool", "conv"}) {
    try {
      text_of(explanation(), layer, false);
      ADD_FAILURE() << layer;
    } catch (const Error &error) {
      ASSERT_EQ(error.notes().size(), 3U) << layer;
      EXPECT_EQ(error.notes()[1], "--kernel 1  Conv conv10");
    }
  }
}

TEST(Layers, AnExcerptReadsWhatItNeedsAndReturnsWhatOthersUse) {
  const program::Program whole =
      tile::to_program("function f(A, B) -> (Z) {\n  X = A + B;\n  Y = X * X;\n  Z = Y - X;\n}\n",
                       "test", {{"A", {DType::F32, {4}}}, {"B", {DType::F32, {4}}}}, {});
  const program::Program part = excerpt(whole, {1});
  program::verify(part);
  ASSERT_EQ(part.statements.size(), 1U);
  ASSERT_EQ(part.inputs.size(), 1U);
  EXPECT_EQ(part[part.inputs[0]].name, "X");
  ASSERT_EQ(part.outputs.size(), 1U);
  EXPECT_EQ(part[part.outputs[0]].name, "Y");
  EXPECT_EQ(program::to_text(excerpt(whole, {0, 1, 2})), program::to_text(whole));
}

} // namespace
} // namespace tilefuse::report
