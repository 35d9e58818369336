// SPDX-License-Identifier: Apache-2.0
#include "cost/dealt_map.h"

#include <gtest/gtest.h>

#include "target/rows.h"

namespace tilefuse {
namespace {

nest::Nest map_of(const char *extra, const char *post) {
  return nest::parse_nest(std::string("nest map {\n"
                                      "  index n 128, x 784, c 256\n"
                                      "  slot 0 f16 25690112, 1 f16 25690112\n"
                                      "  acc f16 = assign\n"
                                      "  out 1 + 0 [n:128*200704, x:784*256, c:256*1]\n") +
                          extra + post + "}\n");
}

double seconds_of(const nest::Nest &map, std::int64_t blocks, int registers) {
  schedule::Schedule first;
  first.tiles.persistent = blocks;
  first.roles.load.registers = registers;
  return cost::dealt_map_seconds(map, first, testing::target_row("cuda_sm90"));
}

const nest::Nest kZeros = map_of("", "  post 0:f16\n");
const nest::Nest kCopy =
    map_of("  extra 0 + 0 [n:128*200704, x:784*256, c:256*1]\n", "  post $0\n");

TEST(DealtMap, ZerosWaitForNothing) { EXPECT_EQ(seconds_of(kZeros, 132, 32), 0); }

TEST(DealtMap, WhatIsReadWaitsForFewLoads) {
  EXPECT_GT(seconds_of(kCopy, 132, 32), 3 * 25690112 * 2 / 4300e9);
  EXPECT_NEAR(seconds_of(kCopy, 66, 32), 2 * seconds_of(kCopy, 132, 32), 1e-9);
  EXPECT_NEAR(seconds_of(kCopy, 132, 24), 2 * seconds_of(kCopy, 132, 32), 1e-9);
}

} // namespace
} // namespace tilefuse
