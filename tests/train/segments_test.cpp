// SPDX-License-Identifier: Apache-2.0
// Programs that are cut where something is summed over lanes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "train/lanes/crossing.h"
#include "train/lanes/segments.h"

namespace tilefuse::train {
namespace {

using program::TensorId;

// A sum, what is read of it over all lanes, and the gradient's, as in a step of one normalisation; the last
// statement needs nothing of the second segment, and a view of the first's is read in the last.
constexpr const char *kStep = R"(program "step" {
  input %0 "x" : f32[4, 2]
  input %1 "sum over lanes" : f32[2]
  input %2 "gradient over lanes" : f32[2]
  %3 "square" : f32[4, 2] = map[%0]($0 * $0)
  %4 "flat" : f32[8] = view(%3)
  %5 "again" : f32[4, 2] = view(%4)
  %6 "y" : f32[4, 2] = map[%3, %1]($0 - $1)
  %7 "d" : f32[4, 2] = map[%5, %2]($0 + $1)
  %8 "sum" : f32[2] = sum[n, c](%3[n, c]) -> [c]
  %9 "gradient" : f32[2] = sum[n, c](%6[n, c]) -> [c]
  output %6
  output %7
  output %8
  output %9
}
)";

TEST(Segments, StandBehindWhatTheyRead) {
  const program::Program whole = program::parse_program(kStep);
  const std::vector<Segment> segments = cut(whole, 2);
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0].lane_sums, std::vector<std::size_t>{0});
  EXPECT_EQ(segments[1].lane_sums, std::vector<std::size_t>{1});
  EXPECT_TRUE(segments[2].lane_sums.empty());
  const auto names = [&](const std::vector<TensorId> &ids) {
    std::string text;
    for (const TensorId id : ids)
      text += (text.empty() ? "" : ", ") + whole[id].name;
    return text;
  };
  EXPECT_EQ(names(segments[0].inputs), "x");
  EXPECT_EQ(names(segments[0].outputs), "square, sum");
  EXPECT_EQ(names(segments[1].inputs), "square, sum over lanes");
  EXPECT_EQ(names(segments[1].outputs), "y, gradient");
  EXPECT_EQ(names(segments[2].inputs), "square, gradient over lanes");
  EXPECT_EQ(names(segments[2].outputs), "d");
  EXPECT_EQ(segments[2].program.statements.size(), 3U) << "views are made again";
}

TEST(Segments, TensorsThatAreAliveTogetherLieApart) {
  const program::Program whole = program::parse_program(kStep);
  const std::vector<Segment> segments = cut(whole, 2);
  const Crossings placed =
      place_crossings(whole, segments, 64, [&](TensorId id) { return whole[id].name == "sum"; });
  ASSERT_EQ(placed.tensors.size(), 4U); // square, y, gradient, d
  for (const Crossing &a : placed.tensors)
    for (const Crossing &b : placed.tensors)
      EXPECT_TRUE(a.tensor == b.tensor || a.first > b.last || b.first > a.last ||
                  std::abs(a.offset - b.offset) >= 64)
          << whole[a.tensor].name;
  EXPECT_EQ(placed.bytes, 3 * 64) << "what only the last segment has lies where the others' was";
}

TEST(Segments, AreTheProgramWhereNothingIsSummed) {
  const program::Program whole = program::parse_program(kStep);
  const std::vector<Segment> segments = cut(whole, 0);
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(program::to_text(segments[0].program), program::to_text(whole));
}

} // namespace
} // namespace tilefuse::train
