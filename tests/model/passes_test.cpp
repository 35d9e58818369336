// SPDX-License-Identifier: Apache-2.0
// The table of passes over programs and what runs them: order, what can be left out, what is noted,
// and that nothing is left to simplify in a program of another precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "model/passes.h"
#include "program/precision/precision.h"
#include "program/reference.h"

namespace tilefuse::model {
namespace {

using program::Program;

// A convolution, its scale and shift by constants that are computed, and another one.
constexpr const char *kNetwork = R"(program "p" {
  input %0 "x" : f32[1, 3, 8]
  const %1 "w" : f32[4, 3]
  const %2 "s" : f32[4, 1]
  const %3 "b" : f32[4, 1]
  const %4 "v" : f32[2, 4]
  %5 "k" : f32[4, 1] = map[%2, %3](($0 + $1)) from "Add"
  %6 "t" : f32[1, 4, 8] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x] from "Conv"
  %7 "a" : f32[1, 4, 8] = map[%6, %5, %3]($0 * $1 + $2) from "BatchNorm"
  %8 "r" : f32[1, 4, 8] = map[%7](max($0, 0)) from "Relu"
  %9 "y" : f32[1, 2, 8] = sum[n, m, x, c](%8[n, c, x] * %4[m, c]) -> [n, m, x] from "Conv2"
  output %9
})";

std::vector<std::string> names_in(const PassContext &passes) {
  std::vector<std::string> names;
  for (const PassTime &time : passes.times())
    names.push_back(time.name);
  return names;
}

std::string refusal(const std::string &name) {
  PassContext passes;
  try {
    disable_pass(passes, name);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

// Of the stages of which every row has a function.
bool runs_whole(PassStage stage) {
  return stage == PassStage::Simplify || stage == PassStage::Rewrite ||
         stage == PassStage::Compose || stage == PassStage::LayOut;
}

TEST(ProgramPasses, StandInTheOrderOfStages) {
  const std::span<const ProgramPass> all = program_passes();
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(),
                     [](const ProgramPass &a, const ProgramPass &b) { return a.stage < b.stage; }));
  for (const ProgramPass &pass : all)
    EXPECT_EQ(pass.run != nullptr, runs_whole(pass.stage)) << pass.name;
}

TEST(ProgramPasses, OfOneNameAreOneFunction) {
  std::map<std::string_view, const ProgramPass *> known;
  for (const ProgramPass &pass : program_passes()) {
    const ProgramPass &first = *known.emplace(pass.name, &pass).first->second;
    EXPECT_EQ(first.run, pass.run) << pass.name;
    EXPECT_EQ(first.needed_because, pass.needed_because) << pass.name;
  }
}

TEST(ProgramPasses, AreLeftOutUnlessNeeded) {
  for (const ProgramPass &pass : program_passes()) {
    const std::string text = refusal(std::string(pass.name));
    EXPECT_EQ(text.empty(), pass.needed_because.empty()) << pass.name;
    EXPECT_NE(text.find(pass.needed_because), std::string::npos) << text;
  }
  const std::string unknown = refusal("fold");
  EXPECT_NE(unknown.find("there is no pass 'fold'"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find(
                "integer_products, fold_constants, absorb_movement, fold_scales, narrow_integers, "
                "share_concatenations, mask_winners, drop_dead"),
            std::string::npos)
      << unknown;
  EXPECT_EQ(unknown.find("choose_layout"), std::string::npos) << unknown;
}

TEST(ProgramPasses, SimplifyInOrder) {
  PassContext passes;
  passes.time();
  const Program simple = simplify(program::testing::program_of(kNetwork), &passes);
  EXPECT_EQ(names_in(passes),
            (std::vector<std::string>{"integer_products", "fold_constants", "absorb_movement",
                                      "fold_scales", "narrow_integers", "share_concatenations",
                                      "mask_winners", "drop_dead"}));
  EXPECT_EQ(passes.times()[0].changes, 0);
  EXPECT_EQ(passes.times()[1].runs, 2);
  EXPECT_EQ(passes.times()[1].changes, 1);
  EXPECT_EQ(passes.times()[3].changes, 1);
  EXPECT_EQ(simple.statements.size(), 4U);
}

TEST(ProgramPasses, LeftOutKeepWhatTheyWouldChange) {
  const Program given = program::testing::program_of(kNetwork);
  PassContext passes;
  disable_pass(passes, "fold_constants");
  const Program kept = simplify(given, &passes);
  EXPECT_EQ(kept.statements.size(), given.statements.size());
  EXPECT_EQ(program::testing::run(kept), program::testing::run(given));
  EXPECT_TRUE(passes.times().empty()); // nobody asked
}

TEST(ProgramPasses, MustLeaveAProgramThatVerifies) {
  const Program given = program::testing::program_of(kNetwork);
  const auto tear = [](const Program &in) {
    Program torn = in;
    torn.statements.erase(torn.statements.begin());
    return torn;
  };
  try {
    run_pass("fold_scales", given, tear);
    FAIL() << "accepted";
  } catch (const Error &error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("wrong after the pass fold_scales"), std::string::npos) << text;
    EXPECT_NE(text.find("--disable-pass fold_scales"), std::string::npos) << text;
  }
}

// What is_simplified rests on.
TEST(ProgramPasses, NothingIsLeftToSimplify) {
  const Program simple = simplify(program::testing::program_of(kNetwork));
  const auto expect_simple = [](const Program &program) {
    EXPECT_EQ(to_text(simplify(program)), to_text(program));
  };
  expect_simple(simple);
  expect_simple(program::with_precision(simple, DType::F16).program);
  expect_simple(program::with_precision(simple, DType::BF16).program);
}

TEST(ProgramPasses, SimplifyOncePerPreparation) {
  const Target target;
  PassContext passes;
  passes.time();
  const Program simple = simplify(program::testing::program_of(kNetwork), &passes);
  prepare(simple, target, {.is_simplified = true, .passes = &passes});
  for (const PassTime &time : passes.times())
    EXPECT_EQ(time.runs, time.name == "fold_constants" ? 2 : 1) << time.name;
}

TEST(ProgramPasses, RewriteAndLayOutWhereAskedFor) {
  const Target target{.backend = "cuda",
                      .lanes = LaneKind::WorkItem,
                      .warp = 32,
                      .features = {Feature::MatrixUnits}};
  PassContext passes;
  passes.time();
  const Program given = program::testing::program_of(kNetwork);
  prepare(given, target, {.algorithm = "im2col", .passes = &passes});
  EXPECT_EQ(names_in(passes),
            (std::vector<std::string>{"integer_products", "fold_constants", "absorb_movement",
                                      "fold_scales", "narrow_integers", "share_concatenations",
                                      "mask_winners", "drop_dead", "rewrite", "read_broadcast",
                                      "compose_maps", "affine_gradients", "join_sums",
                                      "sum_winners", "merge_sums", "join_groups",
                                      "widen_first_layers", "store_filters", "pad_channels"}));
}

} // namespace
} // namespace tilefuse::model
