// SPDX-License-Identifier: Apache-2.0
// Schedule trees: text, rules, and the transforms that fuse a producer.
#include <gtest/gtest.h>

#include "base/error.h"
#include "poly/isl/tree_loops.h"
#include "poly/schedule_tree.h"

namespace tilefuse::poly {
namespace {

const char *const kTree =
    "domain \"{ S0[h, w] : 0 <= h <= 7 and 0 <= w <= 7; S1[h, w] : 0 <= h <= 5 and 0 <= w <= 5 }\" "
    "{\n"
    "  sequence {\n"
    "    filter \"{ S0[h, w] }\" {\n"
    "      band \"[{ S0[h, w] -> [(h)] }, { S0[h, w] -> [(w)] }]\" permutable coincident 1 1\n"
    "    }\n"
    "    filter \"{ S1[h, w] }\" {\n"
    "      band \"[{ S1[h, w] -> [(h)] }, { S1[h, w] -> [(w)] }]\" permutable coincident 1 1\n"
    "    }\n"
    "  }\n"
    "}\n";

ScheduleTree fused() {
  const ScheduleTree tree = parse_schedule_tree(kTree);
  const ScheduleTree tiled = tile_band(tree, {0, 1, 0}, {2, 2});
  const ScheduleTree grafted = graft_extension(
      tiled, {0, 1, 0, 0},
      {.extension = "{ [a, b] -> S0[h, w] : 0 <= a <= 2 and 0 <= b <= 2 and 2a <= h <= 2a + 3 and "
                    "2b <= w <= 2b + 3 }",
       .filter = "{ S0[h, w] }",
       .producer = node_at(tree, {0, 0, 0}),
       .rest = "{ S1[h, w] }"});
  return insert_mark(grafted, {0, 0, 0}, "skipped");
}

TEST(ScheduleTree, ReadsItsOwnTextBack) {
  EXPECT_EQ(to_text(parse_schedule_tree(kTree)), kTree);
  EXPECT_NO_THROW(verify(fused()));
  EXPECT_EQ(parse_schedule_tree(to_text(fused())), fused());
}

TEST(ScheduleTree, TilesAreFloorsAndPointsRemainders) {
  const ScheduleTree tiled = tile_band(parse_schedule_tree(kTree), {0, 1, 0}, {2, 2});
  EXPECT_EQ(node_at(tiled, {0, 1, 0}).text,
            "[{ S1[h, w] -> [(floor((h)/2))] }, { S1[h, w] -> [(floor((w)/2))] }]");
  EXPECT_EQ(node_at(tiled, {0, 1, 0, 0}).text,
            "[{ S1[h, w] -> [((h) mod 2)] }, { S1[h, w] -> [((w) mod 2)] }]");
}

TEST(ScheduleTree, WhatIsSkippedRunsInTheTilesOnly) {
  EXPECT_EQ(to_loops(fused()), "for (int c0 = 0; c0 <= 2; c0 += 1)\n"
                               "  for (int c1 = 0; c1 <= 2; c1 += 1) {\n"
                               "    for (int c2 = 2 * c0; c2 <= 2 * c0 + 3; c2 += 1)\n"
                               "      for (int c3 = 2 * c1; c3 <= 2 * c1 + 3; c3 += 1)\n"
                               "        S0(c2, c3);\n"
                               "    for (int c2 = 0; c2 <= 1; c2 += 1)\n"
                               "      for (int c3 = 0; c3 <= 1; c3 += 1)\n"
                               "        S1(2 * c0 + c2, 2 * c1 + c3);\n"
                               "  }\n");
}

void expect_refused(const std::string &text, const char *part) {
  try {
    parse_schedule_tree(text);
    ADD_FAILURE() << "taken: " << text;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(ScheduleTree, VerifiesItsForm) {
  expect_refused("filter \"{ S[i] }\"", "is a domain");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { sequence { band \"[{ S[i] -> [(i)] }]\" } }",
                 "are filters");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { mark \"kernel\" }", "stands over something");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { sequence { filter \"{ S[i] : i < 3 }\" filter "
                 "\"{ S[i] : i > 1 }\" } }",
                 "overlap");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { sequence { filter \"{ S[i] : i < 3 }\" } }",
                 "no filter of the sequence takes");
  expect_refused(
      "domain \"{ S[i] : 0 <= i < 4 }\" { band \"[{ S[i] -> [(i)] }]\" { extension \"{ [a] "
      "-> S[i] : i = a }\" { band \"[{ S[i] -> [(i)] }]\" } } }",
      "there already");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { band \"[{ S[i] -> (i }]\" }", "isl does not");
  expect_refused("domain \"{ S[i] : 0 <= i < 4 }\" { loop \"{ }\" }", "expected domain");
}

} // namespace
} // namespace tilefuse::poly
