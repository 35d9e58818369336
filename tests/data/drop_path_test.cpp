// SPDX-License-Identifier: Apache-2.0
#include "data/drop_path.h"

#include <gtest/gtest.h>

#include <vector>

namespace tilefuse::data {
namespace {

constexpr DropPath kPaths{.rate = 0.4, .branches = 4};
constexpr int kPictures = 20000;

std::vector<float> factors(std::int64_t sample, std::uint64_t seed = 1, std::int64_t epoch = 0) {
  std::vector<float> drawn(kPaths.branches);
  draw_paths(kPaths, seed, epoch, sample, drawn);
  return drawn;
}

// Branch l of 4 is left out with probability l/4 of the rate, apart from the others; the mean is 1.
TEST(DropPath, LeavesLaterBranchesOutMoreOften) {
  std::vector<int> dropped(4), with_last(4);
  for (int sample = 0; sample < kPictures; ++sample) {
    const std::vector<float> drawn = factors(sample);
    for (std::size_t l = 0; l < 4; ++l) {
      const double chance = 0.1 * static_cast<double>(l + 1);
      EXPECT_TRUE(drawn[l] == 0 || drawn[l] == static_cast<float>(1 / (1 - chance))) << drawn[l];
      dropped[l] += drawn[l] == 0 ? 1 : 0;
      with_last[l] += drawn[l] == 0 && drawn[3] == 0 ? 1 : 0;
    }
  }
  for (std::size_t l = 0; l < 4; ++l)
    EXPECT_NEAR(dropped[l], 0.1 * static_cast<double>(l + 1) * kPictures, 0.015 * kPictures) << l;
  for (std::size_t l = 0; l < 3; ++l)
    EXPECT_NEAR(with_last[l], 0.4 * dropped[l], 0.01 * kPictures) << l;
}

TEST(DropPath, IsAFunctionOfSeedEpochAndPicture) {
  const auto many = [](std::uint64_t seed, std::int64_t epoch) {
    std::vector<float> all;
    for (int sample = 0; sample < 100; ++sample)
      for (const float factor : factors(sample, seed, epoch))
        all.push_back(factor);
    return all;
  };
  EXPECT_EQ(many(1, 0), many(1, 0));
  EXPECT_NE(many(1, 0), many(2, 0));
  EXPECT_NE(many(1, 0), many(1, 1));
}

} // namespace
} // namespace tilefuse::data
