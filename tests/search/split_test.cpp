// SPDX-License-Identifier: Apache-2.0
#include "search/split.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "nest/products.h"
#include "target/features.h"
#include "target/rows.h"

namespace tilefuse {
namespace {

nest::Nest product(int rows, int columns, int depth) {
  return nest::parse_nest(fmt::format("nest gemm {{\n  index m {0}, n {1} | k {2}\n"
                                      "  slot 0 f32 {3}, 1 f32 {4}, 2 f32 {5}\n"
                                      "  acc f32 = sum mul\n"
                                      "  in 0 + 0 [m:{0}*{2}, k:{2}*1]\n"
                                      "  in 1 + 0 [k:{2}*{1}, n:{1}*1]\n"
                                      "  out 2 + 0 [m:{0}*{1}, n:{1}*1]\n  post acc\n}}\n",
                                      rows, columns, depth, rows * depth, depth * columns,
                                      rows * columns));
}

search::SplitChoice choose(const nest::Nest &nest, const char *name) {
  const Target target = testing::target_row(name);
  return search::choose_split(nest, target,
                              [](const nest::Nest &part, search::Searches &searches,
                                 double seconds) { return searches.best_below(part, seconds); });
}

TEST(ChooseSplit, IdleUnitsGetParts) {
  const nest::Nest nest = product(64, 64, 65536);
  const search::SplitChoice choice = choose(nest, "cuda_sm90");
  ASSERT_FALSE(choice.split.empty());
  EXPECT_GE(nest::part_count(choice.split), 16);
  double best = choice.weighed.front().total();
  for (const search::WeighedSplit &one : choice.weighed)
    if (one.split == choice.split && one.join == choice.join)
      best = one.total();
  EXPECT_LT(best, choice.weighed.front().total() / 4);
  const std::string text = search::to_text(nest, choice);
  EXPECT_EQ(text.find("split k:"), 0u) << text;
  EXPECT_NE(text.find("\n  * k:"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    none "), std::string::npos) << text;
}

// A filter gradient of many pixels: its few tiles are far above the peak of matrix units, though
// near that of multiply-adds.
TEST(ChooseSplit, MatrixUnitsAreMeasuredByTheirOwnPeak) {
  const nest::Nest nest = nest::parse_nest(R"(nest gemm {
    index m 128, r 3, s 3, c 128 | n 256, y 28, x 28
    slot 0 f16 25690112, 1 f16 25690112, 2 f16 147456
    acc f32 = sum mul
    in 0 + 0 [n:256*100352, y:28*3584, x:28*128, m:128*1]
    in 1 + 0 [n:256*100352, r + y - 1:28?*3584, s + x - 1:28?*128, c:128*1]
    out 2 + 0 [m:128*1152, r:3*384, s:3*128, c:128*1]
    post f16(acc)
  })");
  const search::SplitChoice choice = choose(nest, "cuda_sm90");
  ASSERT_FALSE(choice.split.empty());
  EXPECT_GE(nest::part_count(choice.split), 4) << search::to_text(nest, choice);
}

// Parts of small tiles are joined by the last block; whoever asks gets the other way.
TEST(ChooseSplit, JoinsInTheSameLaunch) {
  const nest::Nest nest = product(64, 64, 4096);
  const Target target = testing::target_row("cuda_sm90");
  const search::Picker picker = [](const nest::Nest &part, search::Searches &searches,
                                   double seconds) { return searches.best_below(part, seconds); };
  for (const search::JoinIn join : {search::JoinIn::SameLaunch, search::JoinIn::OwnLaunch}) {
    const search::SplitChoice choice = search::choose_split(nest, target, picker, join);
    ASSERT_FALSE(choice.split.empty());
    EXPECT_EQ(choice.join, join) << search::to_text(nest, choice);
    EXPECT_EQ(search::choose_join(nest, choice.split, target, picker, join), join);
  }
  const auto weighs_both = [&](const char *name) {
    const std::string text = search::to_text(nest, choose(nest, name));
    return text.find("to join in the same launch") != std::string::npos;
  };
  EXPECT_TRUE(weighs_both("opencl_nvidia_sm90"));
  EXPECT_TRUE(weighs_both("cuda_sm80"));
  EXPECT_FALSE(weighs_both("cuda_sm90")); // where a join starts early
  EXPECT_EQ(choose(nest, "opencl_amd").join, search::JoinIn::OwnLaunch);
}

TEST(ChooseSplit, AFullDeviceKeepsReductionsWhole) {
  EXPECT_TRUE(choose(product(4096, 4096, 512), "cuda_sm90").split.empty());
  EXPECT_TRUE(choose(product(49, 512, 512), "cpu_avx2").split.empty());
  const nest::Nest nest = product(1024, 1024, 16);
  const search::SplitChoice choice = choose(nest, "cuda_sm90");
  EXPECT_TRUE(choice.split.empty());
}

// A 3x3 layer of many channels over few pixels: the filter of one vector of results is more than the
// second-level cache keeps from one tile of pixels to the next.
TEST(ChooseSplit, FiltersThatTheCacheDoesNotKeepGetParts) {
  const auto layer = [](int channels) {
    return nest::parse_nest(
        fmt::format("nest conv {{\n  index m 384, y 11, x 19 | c {0}, r 3, s 3\n"
                    "  slot 0 f32 {1}, 1 f32 {2}, 2 f32 80256\n"
                    "  acc f32 = sum mul\n"
                    "  in 0 + 0 [c:{0}*1, y + r - 1:11?*{3}, x + s - 1:19?*{0}]\n"
                    "  in 1 + 0 const [m:384*{4}, c:{0}*9, r:3*3, s:3*1]\n"
                    "  out 2 + 0 [m:384*1, y:11*7296, x:19*384]\n"
                    "  post acc\n}}\n",
                    channels, channels * 209, channels * 3456, channels * 19, channels * 9));
  };
  const search::SplitChoice choice = choose(layer(1792), "cpu_avx512");
  EXPECT_GE(nest::part_count(choice.split), 2) << search::to_text(layer(1792), choice);
  EXPECT_TRUE(choose(layer(192), "cpu_avx512").split.empty());
  EXPECT_LE(choice.weighed.size(), 7) << search::to_text(layer(1792), choice);
}

// A filter gradient of a 1x1 layer over eight images: parts whose inputs stay in the caches.
TEST(ChooseSplit, ReductionsBeyondTheCachesOfACoreGetParts) {
  const nest::Nest nest = testing::filter_gradient_1x1(64, 256, 25088);
  const search::SplitChoice choice = choose(nest, "cpu_avx512");
  EXPECT_GE(nest::part_count(choice.split), 16) << search::to_text(nest, choice);
}

// Of splits that promise less than the best, which are not searched, none is better.
TEST(ChooseSplit, FindsTheBestOfAllCounts) {
  const search::Picker picker = [](const nest::Nest &part, search::Searches &searches,
                                   double seconds) { return searches.best_below(part, seconds); };
  for (const char *name : {"cuda_sm90", "cpu_avx512"})
    for (const nest::Nest &nest : {product(64, 64, 16384), product(256, 64, 4096)}) {
      const Target target = testing::target_row(name);
      const search::SplitChoice choice =
          search::choose_split(nest, target, picker, search::JoinIn::OwnLaunch);
      double least = choice.weighed.front().total();
      double chosen = least;
      for (const search::WeighedSplit &one : choice.weighed)
        chosen = one.split == choice.split ? one.total() : chosen;
      search::Searches searches(target);
      for (std::int64_t parts = 2; parts <= 512; parts *= 2) {
        const nest::SplitNests nests = nest::split_reduction(nest, {{nest::IndexId{2}, parts}});
        const auto seconds = [&](const nest::Nest &part) {
          return searches.candidates(part, 1).front().estimate;
        };
        const double join = has(target, Feature::EarlyLaunch)
                                ? seconds(nests.join).seconds - seconds(nests.join).launch
                                : search::following_seconds(seconds(nests.join), target);
        least = std::min(least, search::following_seconds(seconds(nests.partial), target) + join);
      }
      EXPECT_LE(chosen, 1.005 * least) << search::to_text(nest, choice);
    }
}

TEST(ChooseSplit, IsTheSameEveryTime) {
  const nest::Nest nest = product(64, 128, 8192);
  EXPECT_EQ(search::to_text(nest, choose(nest, "opencl_nvidia")),
            search::to_text(nest, choose(nest, "opencl_nvidia")));
}

} // namespace
} // namespace tilefuse
