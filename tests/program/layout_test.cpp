// SPDX-License-Identifier: Apache-2.0
#include "program/layout.h"

#include <random>

#include <gtest/gtest.h>

namespace tilefuse::program {
namespace {

TEST(Layout, ChannelsLastPutsDimensionOneInnermost) {
  EXPECT_EQ(channels_last({2, 3, 5, 7}), (Shape{105, 1, 21, 3}));
  EXPECT_EQ(channels_last({2, 3, 5}), (Shape{15, 1, 3}));
  EXPECT_EQ(channels_last({2, 3, 4, 5, 6}), (Shape{360, 1, 90, 18, 3}));
}

TEST(Layout, UnitDimensionsDoNotCount) {
  EXPECT_TRUE(same_layout({1, 8, 1, 1}, channels_last({1, 8, 1, 1}), row_major({1, 8, 1, 1})));
  EXPECT_FALSE(same_layout({1, 8, 2, 1}, channels_last({1, 8, 2, 1}), row_major({1, 8, 2, 1})));
}

TEST(Layout, ViewsSplitAndMergeContiguousDimensions) {
  const Shape nchw = {1, 32, 8, 8};
  EXPECT_EQ(view_strides(nchw, channels_last(nchw), {1, 4, 8, 8, 8}), (Shape{2048, 8, 1, 256, 32}));
  EXPECT_EQ(view_strides(nchw, channels_last(nchw), {32, 64}), (Shape{1, 32}));
  EXPECT_EQ(view_strides(nchw, channels_last(nchw), {1, 2048}), std::nullopt);
  EXPECT_EQ(view_strides(nchw, row_major(nchw), {2048}), (Shape{1}));
  EXPECT_EQ(view_strides({2, 6}, {12, 2}, {2, 3, 1, 2}), (Shape{12, 4, 4, 2}));
  EXPECT_EQ(view_strides({2, 6}, {20, 2}, {12}), std::nullopt);
  EXPECT_EQ(view_strides({}, {}, {1, 1}), (Shape{1, 1}));
  EXPECT_EQ(view_strides({1, 1}, {7, 9}, {}), Shape{});
}

std::vector<std::int64_t> offsets(const Shape &shape, const Shape &strides) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < elems(shape); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d])
      offset += rest % shape[d] * strides[d];
    result.push_back(offset);
  }
  return result;
}

Shape random_factors(std::mt19937 &random, std::int64_t count) {
  Shape shape;
  while (count > 1) {
    std::int64_t factor = 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(count));
    while (count % factor != 0)
      --factor;
    shape.push_back(factor);
    count /= factor;
    if (random() % 4 == 0)
      shape.push_back(1);
  }
  std::shuffle(shape.begin(), shape.end(), random);
  return shape;
}

TEST(Layout, RandomViewsVisitTheSameElements) {
  std::mt19937 random(3);
  int expressed = 0;
  for (int i = 0; i < 5000; ++i) {
    const Shape from = random_factors(random, 48);
    Shape strides(from.size(), 1);
    std::vector<std::size_t> order(from.size());
    for (std::size_t d = 0; d < order.size(); ++d)
      order[d] = d;
    if (random() % 2 == 0)
      std::shuffle(order.begin(), order.end(), random);
    std::int64_t stride = 1 + static_cast<std::int64_t>(random() % 2);
    for (std::size_t k = order.size(); k-- > 0; stride *= from[order[k]])
      strides[order[k]] = stride;
    const Shape to = random_factors(random, 48);
    const auto found = view_strides(from, strides, to);
    if (!found)
      continue;
    ++expressed;
    EXPECT_EQ(offsets(to, *found), offsets(from, strides));
  }
  EXPECT_GT(expressed, 1000);
}

} // namespace
} // namespace tilefuse::program
