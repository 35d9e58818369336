// SPDX-License-Identifier: Apache-2.0
// Predicted times of schedules with wgmma against an H200's, and which tile is picked.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "cost/model.h"
#include "schedule/mma/core.h"
#include "schedule/text.h"
#include "schedule/wgmma/pixel_box.h"
#include "search/forms/core_forms.h"
#include "target/rows.h"

namespace tilefuse::cost {
namespace {

Target h200() {
  Target target;
  target.name = "cuda_sm90";
  target.backend = "cuda";
  target.isa = "sm_90a";
  target.lanes = LaneKind::WorkItem;
  target.vector_f32 = 128;
  target.vector_registers = 255;
  target.max_group = 1024;
  target.compute_units = 132;
  target.local_bytes = 232448;
  target.local_is_hw = true;
  target.local_banks = 32;
  target.warp = 32;
  target.gflops_per_unit = 507;
  target.gbytes_per_s = 4300;
  target.launch_us = 5.5;
  return testing::with_row(target, "cuda_sm90");
}

// A 3x3 convolution of stride 1 as many channels deep as wide.
nest::Nest conv3x3(int n, int size, int channels) {
  const int row = size * channels, image = size * row, tap = channels, filter = 9 * channels;
  return nest::parse_nest(fmt::format(
      "nest conv {{\n  index n {0}, y {1}, x {1}, m {2} | r 3, s 3, c {2}\n"
      "  slot 0 f16 {3}, 1 f16 {4}, 2 f16 {3}\n  acc f32 = sum mul\n"
      "  in 0 + 0 [n:{0}*{5}, y + r - 1:{1}?*{6}, x + s - 1:{1}?*{2}, c:{2}*1]\n"
      "  in 1 + 0 const [m:{2}*{7}, r:3*{8}, s:3*{9}, c:{2}*1]\n"
      "  out 2 + 0 [n:{0}*{5}, y:{1}*{6}, x:{1}*{2}, m:{2}*1]\n  post acc\n}}\n",
      n, size, channels, n * image, channels * filter, image, row, filter, 3 * tap, tap));
}

// Measured by bench_gpu_layers, microseconds.
struct Measured {
  int n, size, channels;
  std::int64_t rows, columns;
  double us;
};

TEST(WgmmaModel, TimesAreAnH200s) {
  for (const Measured &of : {Measured{256, 56, 64, 256, 64, 127.8},
                             {256, 28, 128, 128, 128, 89.8},
                             {256, 14, 256, 256, 128, 84.2},
                             {32, 14, 256, 128, 128, 18.7},
                             {32, 28, 128, 192, 128, 17.3}}) {
    const nest::Nest nest = conv3x3(of.n, of.size, of.channels);
    bool is_found = false;
    double best = 1;
    for (const schedule::Schedule &schedule : search::wgmma_schedules(nest, h200(), false)) {
      const double seconds = predict(nest, schedule, h200()).seconds;
      best = std::min(best, seconds);
      const schedule::CoreTile tile = gemm_of(nest, schedule).tile;
      if (tile.rows != of.rows || tile.columns != of.columns || has_box(gemm_of(nest, schedule)) ||
          schedule.core.swap_ab)
        continue;
      is_found = true;
      EXPECT_NEAR(seconds * 1e6 / of.us, 1, 0.2) << to_text(nest, schedule);
    }
    EXPECT_TRUE(is_found);
    EXPECT_LT(best * 1e6, 1.2 * of.us);
  }
}

// The same on clusters of two blocks that share the filter, over the time without; taken in turns
// where there is one group.
TEST(WgmmaModel, ClustersCostWhatTheyDoOnAnH200) {
  struct OnCluster {
    int n, size, channels;
    std::int64_t rows, columns;
    int turns;
    double ratio;
  };
  for (const OnCluster &of : {OnCluster{256, 28, 128, 128, 128, 2, 1.106},
                              {256, 28, 128, 256, 128, 1, 1.034},
                              {32, 14, 256, 128, 128, 2, 1.133},
                              {32, 14, 256, 128, 128, 1, 1.091},
                              {256, 56, 64, 128, 64, 2, 1.126}}) {
    const nest::Nest nest = conv3x3(of.n, of.size, of.channels);
    const auto all = search::wgmma_schedules(nest, h200(), false);
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const schedule::Schedule &schedule) {
          const schedule::CoreTile tile = gemm_of(nest, schedule).tile;
          return tile.rows == of.rows && tile.columns == of.columns &&
                 schedule.roles.math.instances == of.turns && !has_box(gemm_of(nest, schedule));
        });
    ASSERT_NE(found, all.end());
    const auto on_cluster = search::with_cluster(nest, *found, h200(), 2, 1);
    ASSERT_TRUE(on_cluster);
    const double ratio =
        predict(nest, *on_cluster, h200()).seconds / predict(nest, *found, h200()).seconds;
    EXPECT_NEAR(ratio, of.ratio, 0.06) << to_text(nest, *on_cluster);
  }
}

// A product whose result is masked, beside what else is added, as an input gradient's is.
nest::Nest masked(const char *type, std::int64_t rows, int depth, int columns, bool is_added) {
  const std::int64_t results = rows * columns;
  const std::string in =
      std::string(type) == "f32" ? "acc f32 = sum mul tf32" : "acc f32 = sum mul";
  return nest::parse_nest(fmt::format(
      "nest gemm {{\n  index y {0}, c {1} | m {2}\n"
      "  slot 0 {3} {4}, 1 {3} {5}, 2 {3} {6}, 3 {3} {6}, 4 {3} {6}\n  {7}\n"
      "  in 0 + 0 [y:{0}*{2}, m:{2}*1]\n  in 1 + 0 [c:{1}*{2}, m:{2}*1]\n"
      "  out 2 + 0 [y:{0}*{1}, c:{1}*1]\n  extra 3 + 0 [y:{0}*{1}, c:{1}*1]\n{8}"
      "  post {3}(select(f32($0) > 0, acc{9}, 0))\n}}\n",
      rows, columns, depth, type, rows * depth, columns * depth, results, in,
      is_added ? fmt::format("  extra 4 + 0 [y:{0}*{1}, c:{1}*1]\n", rows, columns) : "",
      is_added ? " + f32($1)" : ""));
}

// Two operands come by epilogue tiles; one fits beside a ring as it is.
TEST(WgmmaModel, SeveralOperandsComeByEpilogueTiles) {
  for (const bool is_added : {false, true})
    for (const auto &[type, rows, depth] : {std::tuple{"f32", 25088, 256}, {"f16", 50176, 256}}) {
      const nest::Nest nest = masked(type, rows, depth, 1024, is_added);
      const auto all = search::wgmma_schedules(nest, h200(), std::string(type) == "f32");
      ASSERT_FALSE(all.empty());
      const auto best = std::min_element(all.begin(), all.end(), [&](const auto &a, const auto &b) {
        return predict(nest, a, h200()).seconds < predict(nest, b, h200()).seconds;
      });
      EXPECT_EQ(best->extra.epi_n > 0, is_added) << to_text(nest, *best);
    }
}

} // namespace
} // namespace tilefuse::cost
