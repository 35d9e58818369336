// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/mix.h"

namespace tilefuse::data {
namespace {

constexpr PictureForm kForm{.height = 20, .width = 30, .channels = 3};
constexpr int kBatches = 4000;

// The mean of what pictures take.
double taken(const std::vector<float> &mix) {
  const auto rows = mix.begin() + kForm.height;
  return std::accumulate(mix.begin(), rows, 0.0) * std::accumulate(rows, mix.end(), 0.0) /
         (kForm.height * kForm.width);
}

TEST(Mix, SharesOfMixupAreOfBeta) {
  for (const double alpha : {0.2, 1.0, 3.0}) {
    double sum = 0, squares = 0;
    for (int n = 0; n < kBatches; ++n) {
      const std::vector<float> mix = draw_mix({.mixup = alpha}, kForm, 1, n);
      ASSERT_EQ(mix.size(), 50U);
      EXPECT_EQ(std::count(mix.begin(), mix.begin() + 20, mix.front()), 20);
      EXPECT_EQ(std::count(mix.begin() + 20, mix.end(), 1.0F), 30);
      sum += taken(mix);
      squares += taken(mix) * taken(mix);
    }
    const double mean = sum / kBatches;
    EXPECT_NEAR(mean, 0.5, 0.03) << alpha;
    EXPECT_NEAR(squares / kBatches - mean * mean, 1 / (4 * (2 * alpha + 1)), 0.01) << alpha;
  }
}

TEST(Mix, OfCutmixIsABox) {
  double sum = 0;
  for (int n = 0; n < kBatches; ++n) {
    const std::vector<float> mix = draw_mix({.cutmix = 1}, kForm, 1, n);
    for (const auto &[from, to] : {std::pair{0, 20}, std::pair{20, 50}}) {
      int edges = 0; // of a run of ones
      for (int i = from; i < to; ++i) {
        EXPECT_TRUE(mix[i] == 0 || mix[i] == 1);
        edges += i > from && mix[i] != mix[i - 1] ? 1 : 0;
      }
      EXPECT_LE(edges, 2);
    }
    sum += taken(mix);
  }
  EXPECT_GT(sum / kBatches, 0.2); // of half of the pixels, what does not lie beyond the edges
  EXPECT_LT(sum / kBatches, 0.5);
}

TEST(Mix, IsAFunctionOfSeedAndBatch) {
  const Mixing both{.mixup = 0.2, .cutmix = 1};
  EXPECT_EQ(draw_mix(both, kForm, 5, 7), draw_mix(both, kForm, 5, 7));
  EXPECT_NE(draw_mix(both, kForm, 5, 7), draw_mix(both, kForm, 5, 8));
  EXPECT_NE(draw_mix(both, kForm, 5, 7), draw_mix(both, kForm, 6, 7));
  int boxes = 0;
  for (int n = 0; n < kBatches; ++n) {
    const std::vector<float> mix = draw_mix(both, kForm, 1, n);
    boxes += std::count(mix.begin() + 20, mix.end(), 1.0F) < 30 || mix[0] == 0 || mix[0] == 1;
  }
  EXPECT_NEAR(boxes, kBatches / 2, kBatches / 20);
  EXPECT_TRUE(draw_mix({}, kForm, 1, 0).empty());
}

// Shares near 0 and 1 alone, and none that is no number.
TEST(Mix, SmallAlphas) {
  for (int n = 0; n < 100; ++n) {
    const double share = taken(draw_mix({.mixup = 1e-4}, kForm, 1, n));
    EXPECT_TRUE(share >= 0 && share <= 1);
  }
}

} // namespace
} // namespace tilefuse::data
