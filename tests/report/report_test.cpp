// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/candidates.h"
#include "report/flat_table.h"
#include "report/layers.h"
#include "report/sections.h"
#include "tile/tile.h"

namespace tilefuse::report {
namespace {

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

TEST(Candidates, WhatGotWorseIsNamedByGrowthOverTheWholeKernel) {
  const cost::Estimate best{.seconds = 100e-6,
                            .compute = 10e-6,
                            .staging = 1e-6,
                            .memory = 2e-6,
                            .launch = 3e-6,
                            .waves = 8};
  EXPECT_EQ(worse_parts(best, best), "");
  // Half as many blocks that take twice as long each: only the staging grew.
  cost::Estimate other = best;
  other.waves = 4;
  other.compute = 20e-6;
  other.memory = 4e-6;
  other.staging = 4e-6;
  EXPECT_EQ(worse_parts(other, best), "staging 16 us, best 8");
  other.memory = 8e-6;
  other.launch = 3.5e-6; // too little to matter
  EXPECT_EQ(worse_parts(other, best), "memory 32 us, best 16; staging 16 us, best 8");
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
