// SPDX-License-Identifier: Apache-2.0
// Channels in blocks: the same values, no copies between convolutions, copies where channels are
// walked in another way.
#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/rewrite/block_channels.h"
#include "program/storage/storage.h"

namespace tilefuse::program {
namespace {

// Convolution, bias, ReLU; a second one with a residual; pooled to one pixel, then a product.
constexpr const char *kNetwork = R"(program "n" {
  input %0 "x" : f32[2, 3, 5, 5]
  const %1 "w" : f32[8, 3, 3, 3]
  const %2 "b" : f32[8, 1, 1]
  const %3 "v" : f32[8, 8]
  const %4 "d" : f32[2, 8]
  %5 "c1" : f32[2, 8, 5, 5] = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
  %6 "r1" : f32[2, 8, 5, 5] = map[%5, %2](max($0 + $1, 0))
  %7 "c2" : f32[2, 8, 5, 5] = sum[n, m, y, x, c](%6[n, c, y, x] * %3[m, c]) -> [n, m, y, x]
  %8 "r2" : f32[2, 8, 5, 5] = map[%7, %6]($0 + $1)
  %9 "p" : f32[2, 8, 1, 1] = sum[n, c, y, x](%8[n, c, y, x]) -> [n, c, 0, 0]
  %10 "f" : f32[2, 8] = view(%9)
  %11 "o" : f32[2, 2] = sum[n, m, c](%10[n, c] * %4[m, c]) -> [n, m]
  output %11
})";

// A grouped convolution between two others, and a concatenation of channels.
constexpr const char *kGroups = R"(program "g" {
  input %0 "x" : f32[1, 4, 3, 3]
  const %1 "w" : f32[8, 4]
  const %2 "g" : f32[2, 4, 4]
  %3 "c" : f32[1, 8, 3, 3] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
  %4 "split" : f32[1, 2, 4, 3, 3] = view(%3)
  %5 "t" : f32[1, 2, 4, 3, 3] = sum[n, g, m, y, x, c](%4[n, g, c, y, x] * %2[g, m, c]) -> [n, g, m, y, x]
  %6 "join" : f32[1, 8, 3, 3] = view(%5)
  %7 "a" : f32[1, 16, 3, 3] = assign[n, c, y, x](%3[n, c, y, x]) -> [n, c, y, x]
  %8 "b" : f32[1, 16, 3, 3] = assign[n, c, y, x](%6[n, c, y, x]) -> [n, c + 8, y, x] init %7
  %9 "o" : f32[1, 8, 3, 3] = sum[n, c, y, x, m](%8[n, c, y, x] * %1[m, 0]) -> [n, m, y, x]
  output %9
})";

// Windows over channels, and channels that become pixels.
constexpr const char *kWalks = R"(program "w" {
  input %0 "x" : f32[1, 3, 4, 4]
  const %1 "w" : f32[8, 3]
  %2 "c" : f32[1, 8, 4, 4] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
  %3 "l" : f32[1, 8, 4, 4] = sum[n, c, y, x, j](%2[n, c + j - 1, y, x] * %1[j, 0]) -> [n, c, y, x]
  %4 "s" : f32[1, 2, 8, 8] = view(%3)
  output %4
})";

// Part of a result over one whose channels are another dimension.
constexpr const char *kInit = R"(program "i" {
  input %0 "x" : f32[1, 4, 8, 4]
  const %1 "w" : f32[8, 4]
  const %2 "g" : f32[8, 8, 4]
  %3 "c" : f32[1, 8, 8, 4] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
  %4 "t" : f32[1, 8, 8, 4] = sum[n, g, m, x, c](%0[n, c, g, x] * %2[g, m, c]) -> [n, g, m, x]
  %5 "b" : f32[1, 8, 8, 4] = assign[n, c, y, x](%3[n, c + 4, y, x]) -> [n, c, y, x] init %4
  %6 "o" : f32[1, 8, 8, 4] = map[%5]($0 + 1)
  output %6
})";

// Channels, and images, that positions say.
constexpr const char *kPicks = R"(program "p" {
  input %0 "x" : f32[2, 3, 4, 4]
  const %1 "w" : f32[8, 3]
  input %2 "j" : i32[2, 5]
  %3 "c" : f32[2, 8, 4, 4] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
  %4 "by channel" : f32[2, 5, 4, 4] = sum[n, a, y, x, e](%3[n, a, y, x] at a == %2[n, e]) -> [n, e, y, x]
  %5 "by image" : f32[5, 8, 4, 4] = sum[a, c, y, x, e](%3[a, c, y, x] at a == %2[0, e]) -> [e, c, y, x]
  output %4
  output %5
})";

TEST(BlockChannels, TheSameValues) {
  for (const char *text : {kNetwork, kGroups, kWalks, kInit, kPicks})
    for (const std::int64_t block : {2, 4, 8}) {
      const Program program = testing::program_of(text);
      const Program blocked = block_channels(program, block);
      EXPECT_EQ(testing::run(blocked), testing::run(program)) << to_text(blocked);
      EXPECT_EQ(testing::run(assign_storage(blocked, Layout::Nchw)), testing::run(program));
    }
}

TEST(BlockChannels, NoCopiesBetweenConvolutions) {
  for (const char *text : {kNetwork, kGroups}) {
    const Program blocked = block_channels(testing::program_of(text), 4);
    EXPECT_NE(to_text(blocked).find("m_b"), std::string::npos);
    EXPECT_EQ(conversions(assign_storage(blocked, Layout::Nchw)), 0) << to_text(blocked);
  }
}

TEST(BlockChannels, CopiesWhereChannelsAreWalkedInAnotherWay) {
  const StoredProgram stored =
      assign_storage(block_channels(testing::program_of(kWalks), 4), Layout::Nchw);
  EXPECT_GT(conversions(stored), 0) << to_text(stored);
}

TEST(BlockChannels, LeavesOtherCountsAlone) {
  const Program program = testing::program_of(kNetwork);
  EXPECT_EQ(to_text(block_channels(program, 16)), to_text(program));
}

TEST(Layouts, AProgramInOrderNeedsNoCopies) {
  const Program program = testing::program_of(kNetwork);
  const StoredProgram stored = assign_storage(program, Layout::Nchw);
  EXPECT_EQ(conversions(stored), 0);
  for (std::size_t t = 0; t < stored.windows.size(); ++t) {
    const Shape &shape = stored.program.tensors[t].shape;
    EXPECT_TRUE(stored.windows[t].buffer == kNoBuffer ||
                same_layout(shape, stored.windows[t].strides, row_major(shape)));
  }
  EXPECT_EQ(testing::run(stored), testing::run(program));
}

TEST(Layouts, AreReadByName) {
  for (const Layout layout : {Layout::Nhwc, Layout::Nchw, Layout::Blocked})
    EXPECT_EQ(parse_layout(to_string(layout)), layout);
  EXPECT_EQ(parse_layout("nhcw"), std::nullopt);
}

} // namespace
} // namespace tilefuse::program
