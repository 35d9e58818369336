// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "cost/plaidml/plaidml_layout.h"

namespace tilefuse::cost::plaidml {
namespace {

SharedLayout layout_of(std::vector<std::int64_t> strides, const Tile &tile, std::int64_t line = 8) {
  Access access;
  access.strides = std::move(strides);
  return shared_layout(access, tile, line);
}

std::int64_t loads_of(std::vector<std::int64_t> strides, const Tile &tile, std::int64_t line = 8) {
  return loads(layout_of(std::move(strides), tile, line), line);
}

TEST(PlaidmlLayout, NoIndexIsOneElement) {
  const SharedLayout layout = layout_of({0, 0}, {4, 8});
  EXPECT_TRUE(layout.merged.empty());
  EXPECT_EQ(layout.elems, 1);
  EXPECT_EQ(loads(layout, 8), 1);
}

TEST(PlaidmlLayout, OneIndex) {
  EXPECT_EQ(layout_of({1}, {7}).elems, 7);
  EXPECT_EQ(layout_of({1}, {8}).elems, 8); // the last padding is dropped
  EXPECT_EQ(loads_of({1}, {7}), 1);        // 7 / min(8, 7)
  EXPECT_EQ(loads_of({1}, {8}), 1);
  EXPECT_EQ(loads_of({1}, {12}), 1);   // floor(12 / 8)
  EXPECT_EQ(loads_of({3}, {16}), 8);   // two of stride 3 in a line of 8
  EXPECT_EQ(loads_of({64}, {16}), 16); // no saving
  EXPECT_EQ(loads_of({8}, {5}), 5);
  EXPECT_EQ(loads_of({1}, {1}), 1);
}

TEST(PlaidmlLayout, TheBestSingleIndexSaves) {
  // 16 x 32 elements: index 0 saves 8, index 1 nothing.
  EXPECT_EQ(loads_of({1, 100}, {16, 32}), 64);
  // Two short strides that do not merge: only the better one counts.
  EXPECT_EQ(loads_of({2, 3}, {2, 2}), 2); // savings floor(4/2) = 2 and floor(6/3) = 2
}

TEST(PlaidmlLayout, EqualStridesOverlap) {
  const SharedLayout layout = layout_of({10, 0, 10}, {3, 9, 5});
  ASSERT_EQ(layout.merged.size(), 1U);
  EXPECT_EQ(layout.merged[0].range, 7);
  EXPECT_EQ(layout.merged[0].members, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(layout.elems, 7);
  EXPECT_EQ(name_of(layout.merged[0], {"i", "n", "x"}), "i_x");
}

TEST(PlaidmlLayout, ContiguousIndicesMerge) {
  // Channels 3 lie next to y: one range of 3 * 5.
  const SharedLayout layout = layout_of({1, 3}, {3, 5});
  ASSERT_EQ(layout.merged.size(), 1U);
  EXPECT_EQ(layout.merged[0].range, 15);
  // Two of three channels do not reach the next pixel, and do not merge.
  EXPECT_EQ(layout_of({1, 3}, {2, 5}).merged.size(), 2U);
}

TEST(PlaidmlLayout, StrideTwoWindowsMergeOnlyWhereTheyReach) {
  // x of stride 2 and a window i of stride 1: i must cover two points.
  EXPECT_EQ(layout_of({2, 1}, {8, 3}).merged.size(), 1U);
  EXPECT_EQ(layout_of({2, 1}, {8, 3}).elems, 17); // 3 + 2 * 7
  EXPECT_EQ(layout_of({2, 1}, {8, 1}).merged.size(), 2U);
}

TEST(PlaidmlLayout, NegativeStridesMoveTheOrigin) {
  const SharedLayout layout = layout_of({1, -1}, {4, 3});
  ASSERT_EQ(layout.merged.size(), 1U);
  EXPECT_EQ(layout.merged[0].range, 6);
  EXPECT_EQ(layout.merged[0].zero, 2);
  EXPECT_EQ(layout.local_zero, 2);
  EXPECT_EQ(layout.global_zero, 2);
  EXPECT_EQ(layout.members[1].scale, -1);
  EXPECT_EQ(layout_of({-5}, {4}).global_zero, 15);
}

TEST(PlaidmlLayout, OddRangesComeFirstThenLargeOnes) {
  const SharedLayout layout = layout_of({1, 100, 10000, 1000000}, {4, 3, 8, 5});
  std::vector<std::int64_t> ranges;
  std::vector<std::int64_t> strides;
  for (const MergedIndex &merged : layout.merged) {
    ranges.push_back(merged.range);
    strides.push_back(merged.local_stride);
  }
  EXPECT_EQ(ranges, (std::vector<std::int64_t>{5, 3, 8, 4}));
  EXPECT_EQ(strides, (std::vector<std::int64_t>{1, 5, 15, 121})); // 15 * 8 + 1
  EXPECT_EQ(layout.elems, 484);                                   // 121 * 4, last pad dropped
}

TEST(PlaidmlLayout, LoadsWalkShortStridesFirst) {
  // Strides 1 and 3 are near for lines of 8; of 40 and 50 the range 8 fills its threads best.
  const SharedLayout layout = layout_of({50, 3, 40, 1}, {8, 2, 5, 2});
  std::vector<std::int64_t> strides;
  for (const std::size_t m : layout.load_order)
    strides.push_back(layout.merged[m].stride);
  EXPECT_EQ(strides, (std::vector<std::int64_t>{1, 3, 50, 40}));
}

TEST(PlaidmlLayout, StridesOfHalfALineAreFar) {
  const auto first = [](std::int64_t stride) {
    const SharedLayout layout = layout_of({stride, 1000}, {3, 8});
    return layout.merged[layout.load_order[0]].stride;
  };
  EXPECT_EQ(first(3), 3);
  EXPECT_EQ(first(4), 1000); // three points fill four threads worse than eight fill eight
}

struct Drawn {
  std::vector<std::int64_t> strides;
  Tile tile;
};

Drawn draw(std::mt19937 &random) {
  Drawn drawn;
  std::uniform_int_distribution<int> rank(1, 5);
  std::uniform_int_distribution<int> stride(-12, 12);
  std::uniform_int_distribution<int> size(1, 6);
  for (int i = rank(random); i > 0; --i) {
    drawn.strides.push_back(stride(random) * (size(random) == 1 ? 7 : 1));
    drawn.tile.push_back(size(random));
  }
  return drawn;
}

// Every point of the tile finds in its slot the element that the load put there.
void check_points(const Drawn &drawn, const SharedLayout &layout) {
  std::map<std::int64_t, std::int64_t> loaded; // local → global, as the load loops fill them
  std::vector<std::int64_t> position(layout.merged.size(), 0);
  for (bool more = true; more;) {
    std::int64_t local = 0;
    std::int64_t global = -layout.global_zero;
    for (std::size_t m = 0; m < position.size(); ++m) {
      local += position[m] * layout.merged[m].local_stride;
      global += position[m] * layout.merged[m].stride;
    }
    ASSERT_TRUE(loaded.emplace(local, global).second) << "two elements in one slot";
    ASSERT_LT(local, layout.elems);
    more = false;
    for (std::size_t m = 0; m < position.size() && !more; ++m) {
      more = ++position[m] < layout.merged[m].range;
      position[m] = more ? position[m] : 0;
    }
  }
  Tile point(drawn.tile.size(), 0);
  for (bool more = true; more;) {
    std::int64_t local = layout.local_zero;
    std::int64_t global = 0;
    for (std::size_t i = 0; i < point.size(); ++i)
      global += point[i] * drawn.strides[i];
    for (const Member &member : layout.members)
      local += point[member.index] * member.scale * layout.merged[member.merged].local_stride;
    ASSERT_EQ(loaded.count(local), 1U);
    ASSERT_EQ(loaded[local], global);
    more = false;
    for (std::size_t i = 0; i < point.size() && !more; ++i) {
      more = ++point[i] < drawn.tile[i];
      point[i] = more ? point[i] : 0;
    }
  }
}

TEST(PlaidmlLayout, RandomTilesHoldTheirElements) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const Drawn drawn = draw(random);
    const SharedLayout layout = layout_of(drawn.strides, drawn.tile);
    for (const MergedIndex &merged : layout.merged)
      EXPECT_EQ(merged.local_stride % 2, 1);
    check_points(drawn, layout);
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
  }
}

} // namespace
} // namespace tilefuse::cost::plaidml
