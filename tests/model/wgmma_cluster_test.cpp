// SPDX-License-Identifier: Apache-2.0
// Schedules with wgmma on clusters of blocks: each computes what the nest says, its blocks
// simulated together; shared tiles are read once a cluster; what does not combine says why.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"
#include "search/network/launches.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

constexpr auto kShapes =
    std::to_array<std::pair<std::int64_t, std::int64_t>>({{2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}});

// Every tile on every cluster that is legal.
std::vector<Schedule> clustered(const nest::Nest &nest, const Target &target) {
  std::vector<Schedule> all = search::wgmma_schedules(nest, target, false);
  if (all.empty())
    all = search::wgmma_schedules(nest, target, true);
  std::vector<Schedule> found;
  for (const Schedule &each : all)
    for (const auto &[rows, columns] : kShapes)
      if (auto on_cluster = search::with_cluster(nest, each, target, rows, columns))
        found.push_back(*std::move(on_cluster));
  return found;
}

// Every `each`-th of them, from one on that differs between groups.
int check_some(const poly::Group &group, std::size_t each, std::size_t from) {
  std::vector<Schedule> all = clustered(group.anchor, sm90());
  EXPECT_FALSE(all.empty()) << to_text(group.anchor);
  all.erase(all.begin(),
            all.begin() + static_cast<std::ptrdiff_t>(from % std::min(each, all.size())));
  return check_schedules(group, sm90(), all, each);
}

TEST(WgmmaCluster, ComputesItsNest) {
  const std::vector<Conv> problems = {
      {.h = 12, .w = 12, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0},
      {.n = 3, .h = 9, .w = 9, .c = 64, .k = 192},
      {.n = 2, .h = 10, .w = 8, .c = 48, .k = 40, .dilation = 2, .pad = 2},
      {.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3},
      {.h = 7, .w = 7, .c = 128, .k = 320, .r = 1, .s = 1, .pad = 0},
      {.n = 5, .h = 1, .w = 1, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0},
      {.c = 64, .k = 48, .in = "bf16"},
      {.c = 64, .k = 128, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
      {.c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"}};
  std::size_t number = 0;
  int checked = 0;
  for (const Conv &problem : problems)
    checked += check_some(group_of(problem), 29, 4 * number++);
  EXPECT_GE(checked, 16);
}

// A turned filter, strides by classes; both inputs turned, panels of several taps, parts.
TEST(WgmmaCluster, ComputesGradients) {
  std::size_t number = 0;
  for (const By by : {By::Input, By::Filter})
    for (const GradientConv &problem :
         {GradientConv{.n = 3, .c = 64, .k = 128},
          GradientConv{.n = 2, .c = 192, .k = 72, .stride = 2},
          GradientConv{.n = 2, .c = 128, .k = 320, .r = 1, .s = 1, .pad = 0}})
      for (const poly::Group &group : gradients(problem, by))
        if (!clustered(group.anchor, sm90()).empty())
          check_some(group, 29, 5 * number++);
  EXPECT_GE(number, 6U);
}

TEST(WgmmaCluster, ComputesGroupsAndBlocksOfChannels) {
  check_some(nchw32(2, 4, 7, 2, 3), 5, 1);
  check_some({nest::parse_nest(R"(nest conv {
    index n 2, y 7, x 7, g 3, m 32 | r 3, s 3, c 32
    slot 0 f16 9408, 1 f16 27648, 2 f16 9408
    acc f32 = sum mul
    in 0 + 0 [n:2*4704, y + r - 1:7?*672, x + s - 1:7?*96, 32*g + c:96*1]
    in 1 + 0 const [32*g + m:96*288, r:3*96, s:3*32, c:32*1]
    out 2 + 0 [n:2*4704, y:7*672, x:7*96, 32*g + m:96*1]
    post f16(acc)
  })")},
             5, 2);
}

TEST(WgmmaCluster, NamedFormsComputeOddShapes) {
  for (const Conv &shape :
       {Conv{.n = 3, .h = 11, .w = 13, .c = 64, .k = 24, .r = 5, .s = 2, .stride = 3, .pad = 2},
        Conv{.h = 13, .w = 9, .c = 64, .k = 64, .dilation = 2, .pad = 2}}) {
    const poly::Group group = group_of(shape);
    const auto named = search::named_core_schedule("wgmma_cluster", group.anchor, sm90());
    ASSERT_TRUE(named.schedule) << named.refusal;
    EXPECT_EQ(named.schedule->tiles.cluster(), 2);
    check_schedules(group, sm90(), {*named.schedule}, 1);
  }
}

std::int64_t sectors_of(const kernel::Counts &counts, const std::string &map) {
  std::int64_t sectors = 0;
  for (const kernel::AccessCounts &access : counts.accesses)
    sectors += access.text == map ? access.sectors : 0;
  return sectors;
}

// Four tiles of rows by two of columns: what is shared is read once a cluster.
TEST(WgmmaCluster, SharedTilesAreReadOnce) {
  const poly::Group group =
      group_of({.n = 8, .h = 8, .w = 8, .c = 64, .k = 256, .r = 1, .s = 1, .pad = 0});
  const std::vector<Schedule> all = search::wgmma_schedules(group.anchor, sm90(), false);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Schedule &each) {
    const schedule::CoreTile tile = gemm_of(group.anchor, each).tile;
    return tile.rows == 128 && tile.columns == 128;
  });
  ASSERT_NE(found, all.end());
  const auto counts = [&](std::int64_t rows, std::int64_t columns) {
    return counts_of(
        group, search::with_cluster(group.anchor, *found, sm90(), rows, columns).value(), sm90());
  };
  const kernel::Counts alone = counts(1, 1);
  for (const auto &[rows, columns] : {std::pair{2, 1}, {1, 2}, {2, 2}, {4, 1}}) {
    const kernel::Counts shared = counts(rows, columns);
    EXPECT_EQ(sectors_of(shared, "data_map") * columns, sectors_of(alone, "data_map"));
    EXPECT_EQ(sectors_of(shared, "filter_map") * rows, sectors_of(alone, "filter_map"));
  }
}

TEST(WgmmaCluster, TextsReadBack) {
  const poly::Group group = group_of({.c = 64, .k = 128});
  for (const Schedule &schedule : clustered(group.anchor, sm90())) {
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
    const kernel::Kernel kernel = lower::lower(group, schedule, sm90());
    EXPECT_EQ(kernel.cluster, schedule.tiles.cluster());
    EXPECT_EQ(to_text(kernel::parse_kernel(to_text(kernel))), to_text(kernel));
  }
}

TEST(WgmmaCluster, RefusalsSayWhy) {
  const auto refusal = [](const nest::Nest &nest, std::int64_t rows, std::int64_t columns,
                          std::int64_t blocks) {
    Schedule schedule = search::wgmma_schedules(nest, sm90(), false).at(0);
    schedule.tiles.cluster_m = rows;
    schedule.tiles.cluster_n = columns;
    schedule.tiles.persistent = blocks;
    return illegal(nest, schedule, sm90()).value_or("");
  };
  const nest::Nest conv = group_of({.n = 8, .c = 64, .k = 256}).anchor;
  EXPECT_EQ(refusal(conv, 3, 1, 0),
            "clusters of 3 x 1 blocks; it needs 1, 2 or 4 that share tiles");
  EXPECT_EQ(refusal(conv, 2, 4, 0),
            "clusters of 2 x 4 blocks; it needs 1, 2 or 4 that share tiles");
  EXPECT_EQ(refusal(conv, 2, 1, 3), "persistent is 3; it needs 0 or more, in units of 2");
  EXPECT_EQ(refusal(conv, 2, 1, 4), "");
  EXPECT_EQ(refusal(nchw32(2, 4, 7, 2, 3).anchor, 1, 2, 0),
            "cluster.n and boxes exclude each other: blocks multicast runs of a tile's rows, and a "
            "box has none");
}

// Kernels that are one launch leave their clusters.
TEST(WgmmaCluster, NotBesideOthers) {
  std::vector<launch::Part> kernels;
  for (poly::PlacedGroup &placed :
       placed_gradients({.n = 2, .c = 64, .k = 64, .stride = 2}, By::Input)) {
    Schedule clustered =
        *search::named_core_schedule("wgmma_cluster", placed.group.anchor, sm90()).schedule;
    kernels.push_back({std::move(placed), std::move(clustered)});
  }
  const auto launches =
      search::choose_launches(std::move(kernels), sm90(), search::pick_of_size(sm90()));
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(lower::lower_launch(launches[0], sm90()).cluster, 1);
}

} // namespace
} // namespace tilefuse::model
