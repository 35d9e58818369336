// SPDX-License-Identifier: Apache-2.0
// Tiles that roll: 1x1 -> 3x3 of each channel -> 1x1 on 9 rows of 7 pixels, by tiles of two rows.
#include <gtest/gtest.h>

#include <string>

#include "base/index.h"
#include "model/oracle/simulate_group.h"
#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/rolling.h"
#include "schedule/text.h"
#include "search/groups.h"

namespace tilefuse::model {
namespace {

constexpr std::string_view kGroup = R"(group
anchor nest out {
  index y 9, x 7, m 3 | c 4
  slot 0 f32 252, 1 f32 12, 2 f32 189
  acc f32 = sum mul
  in 0 + 0 [y:9*28, x:7*4, c:4*1]
  in 1 + 0 const [m:3*4, c:4*1]
  out 2 + 0 [y:9*21, x:7*3, m:3*1]
  post acc
}
produce input 0 of 0 slots 3 4 0
nest deep {
  index y 9, x 7, c 4 | r 3, s 3
  slot 0 f32 252, 1 f32 36, 2 f32 252
  acc f32 = sum mul
  in 0 + 0 [y + r - 1:9?*28, x + s - 1:7?*4, c:4*1]
  in 1 + 0 const [r:3*12, s:3*4, c:4*1]
  out 2 + 0 [y:9*28, x:7*4, c:4*1]
  post max(acc, 0)
}
produce input 0 of 1 slots 5 6 3
nest in {
  index y 9, x 7, m 4 | c 2
  slot 0 f32 126, 1 f32 8, 2 f32 252
  acc f32 = sum mul
  in 0 + 0 [y:9*14, x:7*2, c:2*1]
  in 1 + 0 const [m:4*2, c:2*1]
  out 2 + 0 [y:9*28, x:7*4, m:4*1]
  post acc + 1
}
)";

std::string
text_of(const std::string &anchor = "tile y:2 x:7 m:3\n slide y:5\n produce 0\n",
        const std::string &deep = "tile y:2 x:7 c:4\n reg y:2\n slide y:1\n produce 0\n",
        const std::string &in = "tile y:4 x:7 m:4\n slide y:1\n") {
  return "schedule rows vector\n" + anchor + "producer 1\nschedule rows vector\n" + deep +
         "producer 2\nschedule rows vector\n" + in;
}

Target target() {
  return {.name = "rolling",
          .backend = "llvm",
          .lanes = LaneKind::Vector,
          .vector_f32 = 4,
          .compute_units = 1,
          .local_bytes = 1 << 16};
}

std::string refusal(const std::string &text, const Target &on = target()) {
  const poly::Group group = poly::parse_group(kGroup);
  return illegal(group, schedule::parse_schedule(group, text), on).value_or("legal");
}

kernel::Counts run(const std::string &text) {
  const poly::Group group = poly::parse_group(kGroup);
  const schedule::Schedule schedule = schedule::parse_schedule(group, text);
  EXPECT_EQ(schedule::parse_schedule(group, to_text(group, schedule)), schedule);
  EXPECT_EQ(refusal(text), "legal");
  const SimulatedGroup result = simulate_group(group, schedule, target(), {});
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.different, 0) << result.first_difference;
  EXPECT_EQ(result.compared, 189);
  return result.counts;
}

std::int64_t multiply_adds(const kernel::Counts &counts) {
  return counts.of(kernel::InstructionKind::Fma).lanes;
}

constexpr std::int64_t kPixels = 63;
constexpr std::int64_t kTaps = 9;
// Of a depthwise layer that reads its padding too, and of both 1x1 layers.
constexpr std::int64_t kNeeded = kPixels * (3 * 4 + 4 * kTaps + 4 * 2);

TEST(Rolling, RowsAreComputedOnce) {
  const kernel::Counts all = run(text_of());
  EXPECT_EQ(all.blocks, 1);
  EXPECT_EQ(multiply_adds(all), kNeeded);
}

// Rows of the first layer at which blocks begin are computed by two of them, two at each place.
TEST(Rolling, BlocksBeginWithWholeTiles) {
  const kernel::Counts two = run(text_of("tile y:2 x:7 m:3\n slide y:3\n produce 0\n"));
  EXPECT_EQ(two.blocks, 2);
  EXPECT_EQ(multiply_adds(two), kNeeded + 2 * 7 * 4 * 2);
}

// Rows outside are not computed, those at which the second block begins are computed again.
TEST(Rolling, TheModelKnowsHowManyRowsAreComputed) {
  const poly::Group group = poly::parse_group(kGroup);
  const auto rows = [&](const std::string &anchor, poly::MemberId member) {
    const schedule::Schedule schedule = schedule::parse_schedule(group, text_of(anchor));
    const nest::Nest tile = tile_nests(group, schedule)[at(member)];
    constexpr int kTiles = 5;
    return rolling(group, schedule, member).computed(tile) * kTiles *
           static_cast<double>(tile.indices[0].extent);
  };
  EXPECT_DOUBLE_EQ(rows("tile y:2 x:7 m:3\n slide y:5\n produce 0\n", poly::MemberId{1}), 9);
  EXPECT_DOUBLE_EQ(rows("tile y:2 x:7 m:3\n slide y:5\n produce 0\n", poly::MemberId{2}), 9);
  EXPECT_DOUBLE_EQ(rows("tile y:2 x:7 m:3\n slide y:3\n produce 0\n", poly::MemberId{2}), 9 + 2);
}

// Without it every tile but the last computes both rows again that it shares with the next.
TEST(Rolling, TilesAloneComputeRowsAgain) {
  const std::string apart = text_of("tile y:3 x:7 m:3\n produce 0\n",
                                    "tile y:3 x:7 c:4\n produce 0\n", "tile y:5 x:7 m:4\n");
  EXPECT_EQ(multiply_adds(run(apart)), kNeeded + 3 * 5 * 7 * 4 * 2 - kPixels * 4 * 2);
}

TEST(Rolling, SomeTilesAreSmallerThanTheirHalo) {
  EXPECT_EQ(multiply_adds(run(text_of("tile y:1 x:7 m:3\n slide y:9\n produce 0\n",
                                      "tile y:1 x:7 c:4\n slide y:1\n produce 0\n",
                                      "tile y:3 x:7 m:4\n slide y:1\n"))),
            kNeeded);
}

TEST(Rolling, AlongColumns) {
  run(text_of("tile y:9 x:3 m:3\n slide x:3\n produce 0\n",
              "tile y:9 x:3 c:4\n slide x:1\n produce 0\n", "tile y:9 x:5 m:4\n slide x:1\n"));
}

TEST(Rolling, IsRefusedWithAReason) {
  const std::string anchor = "tile y:2 x:7 m:3\n slide y:5\n produce 0\n";
  const std::string deep = "tile y:2 x:7 c:4\n slide y:1\n produce 0\n";
  EXPECT_EQ(refusal(text_of("tile y:2 x:7 m:1\n slide m:3\n produce 0\n")),
            "member 0: m rolls, and no produced input moves with it");
  EXPECT_EQ(refusal(text_of("tile y:2 x:7 m:3\n slide y:6\n produce 0\n")),
            "y rolls through 6 tiles");
  EXPECT_EQ(refusal(text_of("tile y:2 x:1 m:3\n slide y:5 x:7\n produce 0\n")),
            "member 0: more than one index rolls");
  EXPECT_EQ(refusal(text_of("tile y:2 x:7 m:3 c:2\n slide y:5\n produce 0 at c\n")),
            "member 0: rows of input 0 stay, and it is produced in chunks");
  EXPECT_EQ(refusal(text_of(anchor, "tile y:2 x:7 c:4\n produce 0\n", "tile y:4 x:7 m:4\n")),
            "member 1: its consumer's tiles move along its y");
  EXPECT_EQ(refusal(text_of("tile y:2 x:7 m:3\n produce 0\n")),
            "member 1: its consumer's tiles move nothing of it that rolls");
  EXPECT_EQ(refusal(text_of(anchor, "tile y:2 x:7 c:4\n slide y:2\n produce 0\n")),
            "member 1: y rolls through 2 tiles");
  EXPECT_EQ(refusal(text_of(anchor, "tile y:1 x:7 c:4\n slide y:1\n produce 0\n")),
            "member 1: y rolls, and is not one tile");
  EXPECT_EQ(refusal(text_of(anchor, "tile y:2 x:7 c:2\n slide y:1\n produce 0\n")),
            "member 1: rows of input 0 stay, and c has several tiles");
  EXPECT_EQ(refusal(text_of(anchor, deep, "tile y:4 x:7 m:4\n lane y:4\n slide y:1\n")),
            "member 2: y rolls, and has lanes or edges");
  Target items = target();
  items.lanes = LaneKind::WorkItem;
  items.max_group = 64;
  std::string by_items = text_of();
  for (std::size_t at; (at = by_items.find("vector")) != std::string::npos;)
    by_items.replace(at, 6, "workitem");
  EXPECT_EQ(refusal(by_items, items), "member 0: y rolls, which needs blocks of one work-item");
}

// Picked where it saves: the whole height in one block for one unit.
TEST(Rolling, IsPicked) {
  const poly::Group group = poly::parse_group(kGroup);
  Target small = target();
  small.local_bytes = 2000;
  const auto picked = search::pick_fused(group, small);
  ASSERT_TRUE(picked);
  EXPECT_TRUE(schedule::rolled_index(*picked)) << to_text(group, *picked);
  const SimulatedGroup result = simulate_group(group, *picked, small, {});
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.different, 0) << result.first_difference;
}

} // namespace
} // namespace tilefuse::model
