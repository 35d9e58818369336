// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "nest/flatten/split.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"

namespace tilefuse {
namespace {

nest::Nest conv() {
  return nest::parse_nest("nest conv {\n"
                          "  index y 3, m 4 | c 6, r 3\n"
                          "  slot 0 f16 24, 1 f16 72, 2 f16 12, 3 f32 4\n"
                          "  acc f32 = sum mul\n"
                          "  in 0 + 0 [y + r - 1:4?*6, c:6*1]\n"
                          "  in 1 + 0 const [m:4*18, c:6*3, r:3*1]\n"
                          "  out 2 + 0 [m:4*3, y:3*1]\n"
                          "  extra 3 + 0 const [m:4*1]\n"
                          "  post max(acc + $0, 0)\n"
                          "}\n");
}

using Slots = std::vector<std::optional<nest::SlotId>>;

TEST(Split, PartsBecomeAnOutputIndexAndAreJoinedInOrder) {
  const nest::Nest nest = conv();
  const nest::SplitNests nests =
      nest::split_reduction(nest, {{nest::IndexId{3}, 3}, {nest::IndexId{2}, 2}});
  EXPECT_EQ(nest::to_text(nests.partial), "nest conv_part {\n"
                                          "  index rp 3, cp 2, y 3, m 4 | c 3\n"
                                          "  slot 0 f16 24, 1 f16 72, 2 f32 72\n"
                                          "  acc f32 = sum mul\n"
                                          "  in 0 + 0 [rp + y - 1:4?*6, cp:2*3, c:3*1]\n"
                                          "  in 1 + 0 const [m:4*18, cp:2*9, c:3*3, rp:3*1]\n"
                                          "  out 2 + 0 [rp:3*24, cp:2*12, m:4*3, y:3*1]\n"
                                          "  post acc\n"
                                          "}\n");
  EXPECT_EQ(nest::to_text(nests.join), "nest conv_join {\n"
                                       "  index y 3, m 4 | rp_cp 6\n"
                                       "  slot 0 f32 72, 1 f32 4, 2 f16 12\n"
                                       "  acc f32 = sum\n"
                                       "  in 0 + 0 [rp_cp:6*12, m:4*3, y:3*1]\n"
                                       "  out 2 + 0 [m:4*3, y:3*1]\n"
                                       "  extra 1 + 0 const [m:4*1]\n"
                                       "  post max(acc + $0, 0)\n"
                                       "}\n");
  EXPECT_EQ(nests.partial_slots, (Slots{nest::SlotId{0}, nest::SlotId{1}, std::nullopt}));
  EXPECT_EQ(nests.join_slots, (Slots{std::nullopt, nest::SlotId{3}, nest::SlotId{2}}));
}

// A filter's gradient of images that lie by channels: parts leave as neighbours, the join turns them.
TEST(Split, PartsLieAlongWhatAnInputHasNeighboursAlong) {
  const nest::Nest nest = nest::parse_nest("nest gemm {\n"
                                           "  index m 4, c 8, r 3 | n 6\n"
                                           "  slot 0 f16 24, 1 f16 64, 2 f32 96\n"
                                           "  acc f32 = sum mul\n"
                                           "  in 0 + 0 [n:6*4, m:4*1]\n"
                                           "  in 1 + 0 [n + r:8*8, c:8*1]\n"
                                           "  out 2 + 0 [m:4*24, c:8*3, r:3*1]\n"
                                           "  post acc\n"
                                           "}\n");
  const nest::SplitNests nests = nest::split_reduction(nest, {{nest::IndexId{3}, 2}});
  EXPECT_NE(nest::to_text(nests.partial).find("out 2 + 0 [np:2*96, m:4*24, r:3*8, c:8*1]"),
            std::string::npos)
      << nest::to_text(nests.partial);
  EXPECT_NE(nest::to_text(nests.join)
                .find("in 0 + 0 [np:2*96, m:4*24, r:3*8, c:8*1]\n"
                      "  out 1 + 0 [m:4*24, c:8*3, r:3*1]"),
            std::string::npos)
      << nest::to_text(nests.join);
}

// Parts of an index keep names that a text can have: of "m_0" no "0" is left.
TEST(Split, IndicesAreNamedByIdentifiers) {
  for (const auto &[name, parts] : std::vector<std::pair<std::string, std::string>>{
           {"y_x", "y 4, x 3"}, {"m_0", "m_0 4, m_01 3"}, {"m", "m 4, m1 3"}}) {
    const nest::Nest nest = nest::parse_nest("nest copy {\n"
                                             "  index " +
                                             name +
                                             " 12\n"
                                             "  slot 0 f32 12, 1 f32 12\n"
                                             "  acc f32 = assign\n"
                                             "  in 0 + 0 [" +
                                             name +
                                             ":12*1]\n"
                                             "  out 1 + 0 [" +
                                             name + ":12*1]\n  post acc\n}\n");
    const nest::Nest split = nest::split_index(nest, nest::IndexId{0}, 3);
    EXPECT_NE(nest::to_text(split).find("index " + parts), std::string::npos)
        << nest::to_text(split);
    EXPECT_EQ(nest::parse_nest(nest::to_text(split)), split);
  }
}

TEST(Split, ReadsItsTextBack) {
  const nest::Nest nest = conv();
  const nest::ReductionSplit split = {{nest::IndexId{2}, 2}, {nest::IndexId{3}, 3}};
  EXPECT_EQ(nest::to_text(nest, split), "c:2 r:3");
  EXPECT_EQ(nest::parse_split(nest, "c:2 r:3"), split);
  EXPECT_EQ(nest::to_text(nest, {}), "none");
  EXPECT_TRUE(nest::parse_split(nest, "none").empty());
  for (const char *wrong : {"q:2", "c", "c:", "none c:2"})
    EXPECT_THROW(nest::parse_split(nest, wrong), Error) << wrong;
}

TEST(Split, RefusalsSayWhy) {
  const nest::Nest nest = conv();
  const auto why = [&](const char *text) {
    return nest::illegal_split(nest, nest::parse_split(nest, text)).value_or("");
  };
  EXPECT_EQ(why("c:6 r:3"), "");
  EXPECT_EQ(why("y:3"), "only a reduced index can be split");
  EXPECT_EQ(why("c:4"), "index c: 4 parts, its 6 points need a divisor above 1");
  EXPECT_EQ(why("c:1"), "index c: 1 parts, its 6 points need a divisor above 1");
  EXPECT_EQ(why("c:2 c:3"), "index c is split twice");
  const nest::Nest map =
      nest::parse_nest("nest map {\n  index i 4\n  slot 0 f32 4, 1 f32 4\n  acc f32 = assign\n"
                       "  out 1 + 0 [i:4*1]\n  extra 0 + 0 [i:4*1]\n"
                       "  post $0\n}\n");
  EXPECT_EQ(nest::illegal_split(map, {{nest::IndexId{0}, 2}}), "the nest has no reduction");
}

} // namespace
} // namespace tilefuse
