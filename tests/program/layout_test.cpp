// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/storage/layout.h"

namespace tilefuse::program {
namespace {

TEST(Layout, ChannelsLastPutsDimensionOneInnermost) {
  EXPECT_EQ(channels_last({2, 3, 5, 7}), (Shape{105, 1, 21, 3}));
  EXPECT_EQ(channels_last({2, 3, 5}), (Shape{15, 1, 3}));
  EXPECT_EQ(channels_last({2, 3, 4, 5, 6}), (Shape{360, 1, 90, 18, 3}));
}

TEST(Layout, SeveralChannelDimensionsKeepTheirOrder) {
  EXPECT_EQ(channels_last({2, 3, 4, 5, 6}, 2), (Shape{360, 4, 1, 72, 12}));
}

TEST(Layout, ConvolutionsSayWhatTheirChannelsAre) {
  const Program program = testing::program_of(R"(program "t" {
    input %0 "x" : f32[1, 4, 5, 5] const %1 "w" : f32[2, 3, 2] const %2 "d" : f32[6]
    %3 "split" : f32[1, 2, 2, 5, 5] = view(%0)
    %4 "grouped" : f32[1, 2, 3, 5, 5] = sum[n, g, m, y, x, c](%3[n, g, c, y, x] * %1[g, m, c]) -> [n, g, m, y, x]
    %5 "joined" : f32[1, 6, 5, 5] = view(%4)
    %6 "relu" : f32[1, 6, 5, 5] = map[%5](max($0, 0))
    %7 "depthwise" : f32[1, 6, 5, 5] = sum[n, c, y, x](%6[n, c, y, x] * %2[c]) -> [n, c, y, x]
    %8 "flat" : f32[1, 6, 25] = view(%7)
    %9 "one" : f32[1, 1, 5, 5] = sum[n, c, y, x](%6[n, c, y, x]) -> [n, 0, y, x]
    %10 "spread" : f32[1, 2, 6, 5, 5] = map[%6]($0 + 1)
    %11 "batches" : f32[2, 1, 3, 5, 5] = view(%6)
    output %8 })");
  EXPECT_EQ(channel_dims(program), (std::vector<std::size_t>{0, 0, 0, 2, 2, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Layout, MatrixProductsHaveNoChannels) {
  const Program program = testing::program_of(R"(program "t" {
    input %0 "x" : f32[2, 3, 4] const %1 "w" : f32[4, 5]
    %2 "y" : f32[2, 3, 5] = sum[b, t, d, k](%0[b, t, k] * %1[k, d]) -> [b, t, d]
    %3 "z" : f32[2, 3, 5] = sum[b, t, d, k](%1[k, d] * %0[b, t, k]) -> [b, t, d]
    output %2 })");
  EXPECT_EQ(channel_dims(program), std::vector<std::size_t>(4, 0));
}

// Heads of attention behind a convolution: keys are no channels of their products.
TEST(Layout, ProductsOfABatchExchangeNoChannels) {
  const Program program = testing::program_of(R"(program "t" {
    input %0 "x" : f32[2, 4, 5, 5] const %1 "w" : f32[6, 4]
    %2 "conv" : f32[2, 6, 5, 5] = sum[n, m, y, x, c](%0[n, c, y, x] * %1[m, c]) -> [n, m, y, x]
    %3 "heads" : f32[2, 2, 3, 25] = view(%2)
    %4 "scores" : f32[2, 2, 25, 25] = sum[n, h, a, b, k](%3[n, h, k, a] * %3[n, h, k, b]) -> [n, h, a, b]
    output %4 })");
  EXPECT_EQ(channel_dims(program), (std::vector<std::size_t>{0, 0, 1, 1, 0}));
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
