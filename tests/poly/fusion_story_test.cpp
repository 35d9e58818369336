// SPDX-License-Identifier: Apache-2.0
// The story of a fusion holds together: its trees verify and read back, its figures are the known
// ones, and what must not be run again is refused.
#include "poly/fusion_story.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tile/tile.h"

namespace tilefuse::poly {
namespace {

const char *const kText = "function chain(A[8, 8], K[3, 3]) -> (O) {\n"
                          "  Q = round(A);\n"
                          "  C[h, w : 6, 6] = +(Q[h + r, w + s] * K[r, s]);\n"
                          "  O = max(C, 0);\n"
                          "}\n"
                          "function twice(A[12, 12], K[3, 3]) -> (O) {\n"
                          "  B[h, w : 10, 10] = +(A[h + r, w + s] * K[r, s]);\n"
                          "  O[h, w : 8, 8] = +(B[h + r, w + s] * K[r, s]);\n"
                          "}\n"
                          "function strided(A[17, 13], K[3, 5]) -> (O) {\n"
                          "  Q = round(A);\n"
                          "  O[h, w : 5, 3] = +(Q[3*h + 2*r, 2*w + s] * K[r, s]);\n"
                          "}\n"
                          "function mixed(A[4, 8, 8], K[5, 4]) -> (O) {\n"
                          "  Q = round(A);\n"
                          "  O[m, h, w : 5, 8, 8] = +(Q[c, h, w] * K[m, c]);\n"
                          "}\n"
                          "function shown(A[8, 8], K[3, 3]) -> (O, Q) {\n"
                          "  Q = round(A);\n"
                          "  O[max, w : 6, 6] = +(Q[max + r, w + s] * K[r, s]);\n"
                          "}\n"
                          "function alone(A[8, 8], K[3, 3]) -> (O) {\n"
                          "  O[h, w : 6, 6] = +(A[h + r, w + s] * K[r, s]);\n"
                          "}\n";

FusionStory story(const char *function, const StoryOptions &options = {}) {
  return tell_fusion(
      program::assign_storage(tile::to_program(kText, "chain.tile", {}, {}, function)), options);
}

int times(const std::string &text, const std::string &part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(FusionStory, TellsOfTheArticle) {
  const FusionStory told = story("chain");
  EXPECT_EQ(told.producers, Chosen{"S0"});
  EXPECT_EQ(told.consumers, (Chosen{"S1", "S2", "S3"}));
  EXPECT_EQ(told.own_tile, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(told.needs.at(0).executed, 144);
  EXPECT_EQ(told.needs.at(0).distinct, 64);
  EXPECT_EQ(told.grid, (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(told.conflicts.at(0).in, (std::vector<std::string>{"[0, 0]"}));
  EXPECT_EQ(told.conflicts.at(1).in,
            (std::vector<std::string>{"[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"}));
  ASSERT_TRUE(told.fused);
  for (const ScheduleTree *tree : {&told.original, &told.tiled, &*told.fused})
    EXPECT_EQ(parse_schedule_tree(to_text(*tree)), *tree);
  EXPECT_EQ(times(told.loops_fused, "S0("), 1);
}

TEST(FusionStory, AChainOfProducersIsGraftedInTheOrderOfItsData) {
  const FusionStory told = story("twice", {.tile = {4, 4}});
  ASSERT_TRUE(told.fused);
  EXPECT_EQ(told.needs.size(), 2u);
  EXPECT_EQ(told.needs.at(1).executed, 4 * 36 * 9);
  EXPECT_LT(told.loops_fused.find("S1("), told.loops_fused.find("S3("));
}

TEST(FusionStory, WhatOverwritesItsInputIsNotRunAgain) {
  const FusionStory told = story("chain", {.in_place = {"Q"}});
  EXPECT_FALSE(told.fused);
  ASSERT_EQ(told.refusals.size(), 1u);
  EXPECT_TRUE(told.refusals[0].starts_with("it overwrites what it reads")) << told.refusals[0];
}

TEST(FusionStory, StridedAndDilatedTilesHaveTheBoxAroundTheirPoints) {
  const FusionStory told = story("strided");
  EXPECT_EQ(told.needs.at(0).box, (std::vector<std::int64_t>{8, 7}));
  EXPECT_EQ(told.own_tile, told.needs.at(0).box);
  EXPECT_FALSE(told.tiles_fit);
  EXPECT_EQ(told.conflicts.at(0).in, (std::vector<std::string>{"[0, 0]"}));
}

TEST(FusionStory, ShowsOnlyTilesThatThereAre) {
  const FusionStory told = story("strided", {.tile = {5, 2}});
  EXPECT_EQ(told.grid, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(told.conflicts.at(1).tile, "[0, 1]");
  EXPECT_FALSE(told.conflicts.at(1).in.empty());
  EXPECT_EQ(story("strided", {.tile = {5, 3}}).conflicts.size(), 1u);
}

TEST(FusionStory, TilesOfAPointwiseFilterFit) {
  const FusionStory told = story("mixed");
  EXPECT_TRUE(told.tiles_fit);
  EXPECT_EQ(told.conflicts.at(1).in, (std::vector<std::string>{"[0, 1, 1]"}));
}

// An index has the name of a function of isl.
TEST(FusionStory, AProducerThatIsAskedForStays) {
  const FusionStory told = story("shown");
  ASSERT_TRUE(told.fused);
  ASSERT_EQ(told.kept.size(), 1u);
  EXPECT_TRUE(told.kept[0].starts_with("S0 stays: its result is asked for")) << told.kept[0];
  EXPECT_EQ(to_text(*told.fused).find("skipped"), std::string::npos);
  EXPECT_EQ(times(told.loops_fused, "S0("), 2);
}

TEST(FusionStory, SaysWhatItCannotTell) {
  EXPECT_THROW(story("chain", {.tile = {0, 2}}), Error);
  EXPECT_THROW(story("chain", {.tile = {2, 2, 2}}), Error);
  EXPECT_THROW(story("alone"), Error);
  EXPECT_THROW(story("chain", {.quota = 1000}), Error);
}

} // namespace
} // namespace tilefuse::poly
