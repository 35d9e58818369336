// SPDX-License-Identifier: Apache-2.0
#include "data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "data/order.h"
#include "data/written.h"

namespace tilefuse::data {
namespace {

using Pixels = std::vector<std::uint8_t>;

constexpr PictureForm kForm = {.height = 5, .width = 7, .channels = 3};

// Bytes from 1 on, all different.
Pixels numbered(const PictureForm &form) {
  Pixels pixels(picture_bytes(form));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<std::uint8_t>(i + 1);
  return pixels;
}

Pixels changed(const Augment &how, std::int64_t sample, std::int64_t epoch = 0,
               std::uint64_t seed = 1) {
  Pixels pixels = numbered(kForm);
  augment(how, kForm, seed, epoch, sample, pixels);
  return pixels;
}

// A picture's crop and mirror image, pixel by pixel.
Pixels expected(int down, int right, bool is_mirrored) {
  const Pixels from = numbered(kForm);
  Pixels to(from.size());
  const auto place = [](int y, int x, int c) {
    return static_cast<std::size_t>((y * 7 + x) * 3 + c);
  };
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 7; ++x)
      for (int c = 0; c < 3; ++c) {
        const int row = y + down;
        const int column = (is_mirrored ? 6 - x : x) + right;
        const bool is_inside = row >= 0 && row < 5 && column >= 0 && column < 7;
        to[place(y, x, c)] = is_inside ? from[place(row, column, c)] : std::uint8_t{0};
      }
  return to;
}

TEST(Augment, EveryCropAndMirrorImageComes) {
  std::map<Pixels, int> wanted;
  for (int down = -2; down <= 2; ++down)
    for (int right = -2; right <= 2; ++right)
      for (const bool is_mirrored : {false, true})
        wanted[expected(down, right, is_mirrored)] = 0;
  constexpr int kDraws = 5000;
  for (int sample = 0; sample < kDraws; ++sample) {
    const auto found = wanted.find(changed({.pad_crop = 2, .flip = true}, sample));
    ASSERT_NE(found, wanted.end()) << "sample " << sample;
    ++found->second;
  }
  for (const auto &[pixels, count] : wanted) // 100 on average
    EXPECT_TRUE(count > 60 && count < 145) << count;
}

TEST(Augment, IsAFunctionOfSeedEpochAndPicture) {
  const Augment both = {.pad_crop = 2, .flip = true};
  std::set<Pixels> by_epoch, by_seed, by_sample;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(changed(both, i, 3, 9), changed(both, i, 3, 9));
    by_epoch.insert(changed(both, 5, i));
    by_seed.insert(changed(both, 5, 0, static_cast<std::uint64_t>(i)));
    by_sample.insert(changed(both, i));
  }
  for (const auto &kinds : {by_epoch, by_seed, by_sample})
    EXPECT_GT(kinds.size(), 8U);
  EXPECT_NE(epoch_key(1, 0), epoch_key(std::uint64_t{1} << 32, 0));
}

TEST(Augment, NothingAskedForChangesNothing) {
  for (int sample = 0; sample < 20; ++sample)
    EXPECT_EQ(changed({}, sample), numbered(kForm));
}

TEST(Augment, TheWidestBorder) {
  for (int sample = 0; sample < 200; ++sample)
    changed({.pad_crop = 5, .flip = true}, sample);
  EXPECT_EQ(refusal([] { check({.pad_crop = 5}, kForm); }), "");
  EXPECT_EQ(refusal([] { check({.pad_crop = 6}, kForm); }),
            "shape error: a border of 6 zeros around pictures of 5 x 7, need 0 to 5");
  EXPECT_NE(refusal([] { check({.pad_crop = -1}, kForm); }), "");
}

TEST(Order, IsAPermutationOfItsOwnForEverySeedAndEpoch) {
  std::set<std::vector<std::int64_t>> orders;
  for (std::uint64_t seed : {0U, 1U, 2U})
    for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<std::int64_t> order = shuffled(100, seed, epoch);
      EXPECT_EQ(order, shuffled(100, seed, epoch));
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (std::int64_t i = 0; i < 100; ++i)
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    }
  EXPECT_EQ(orders.size(), 15U);
  EXPECT_EQ(shuffled(1, 1, 0), std::vector<std::int64_t>{0});
}

// A run that goes on on another machine, or after an update, must find the same order.
TEST(Order, IsTheSameEverywhere) {
  EXPECT_EQ(shuffled(8, 1, 0), (std::vector<std::int64_t>{6, 2, 7, 1, 5, 3, 4, 0}));
  EXPECT_EQ(shuffled(8, 1, 1), (std::vector<std::int64_t>{3, 1, 7, 4, 5, 2, 6, 0}));
}

} // namespace
} // namespace tilefuse::data
