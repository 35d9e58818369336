// SPDX-License-Identifier: Apache-2.0
// Steps from one schedule with a matrix instruction to the next are legal, the same for the same
// random numbers, and reach every axis of the space.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "nest/nest.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"
#include "search/matrix_neighbours.h"
#include "target/rows.h"

namespace tilefuse::testing {
namespace {

using schedule::Engine;
using schedule::Footprint;
using schedule::Schedule;

nest::Nest residual() {
  return nest::parse_nest(R"(nest conv {
  index n 4, y 28, x 28, m 128 | r 3, s 3, c 64
  slot 0 f16 200704, 1 f16 73728, 2 f16 401408, 3 f16 401408
  acc f32 = sum mul
  in 0 + 0 [n:4*50176, y + r - 1:28?*1792, x + s - 1:28?*64, c:64*1]
  in 1 + 0 const [m:128*576, r:3*192, s:3*64, c:64*1]
  out 2 + 0 [n:4*100352, y:28*3584, x:28*128, m:128*1]
  extra 3 + 0 [n:4*100352, y:28*3584, x:28*128, m:128*1]
  post f16(max(acc + f32($0), 0))
})");
}

Target hopper() {
  Target target = target_row("cuda_sm90");
  target.compute_units = 8;
  return target;
}

using Axis = std::function<bool(const Schedule &)>;

std::map<std::string, Axis> axes() {
  return {
      {"cp_async", [](const Schedule &s) { return has_loading_warps(s); }},
      {"halo", [](const Schedule &s) { return halo_stages(s) > 0; }},
      {"resident", [](const Schedule &s) { return has_resident(s); }},
      {"halo beside steps",
       [](const Schedule &s) { return halo_stages(s) > 0 && !has_resident(s); }},
      {"extra", [](const Schedule &s) { return s.extra.stages > 0; }},
      {"epi_n", [](const Schedule &s) { return s.extra.epi_n > 0; }},
      {"store", [](const Schedule &s) { return s.store == schedule::Store::Tma; }},
      {"pingpong", [](const Schedule &s) { return s.roles.math.instances == 2; }},
      {"cluster_m", [](const Schedule &s) { return s.tiles.cluster_m > 1; }},
      {"cluster_n", [](const Schedule &s) { return s.tiles.cluster_n > 1; }},
      {"split_k", [](const Schedule &s) { return s.tiles.split_k > 1; }},
      {"parts in boxes",
       [](const Schedule &s) { return s.tiles.split_k > 1 && s.store == schedule::Store::Tma; }},
      {"persistent", [](const Schedule &s) { return s.tiles.persistent > 0; }},
      {"raster", [](const Schedule &s) { return s.tiles.raster == schedule::Raster::Rows; }},
      {"k_inner", [](const Schedule &s) { return s.core.k_inner; }},
      {"early", [](const Schedule &s) { return s.roles.load.early; }},
      {"late", [](const Schedule &s) { return !s.roles.load.early; }},
      {"lead", [](const Schedule &s) { return s.roles.load.lead == 1; }},
      {"registers",
       [](const Schedule &s) { return s.roles.load.registers > 56 && !has_loading_warps(s); }},
      {"tests_rows", [](const Schedule &s) { return s.roles.math.tests_rows; }},
      {"swap_ab", [](const Schedule &s) { return s.core.swap_ab; }},
      {"straight", [](const Schedule &s) { return !s.core.swap_ab; }},
      {"vec", [](const Schedule &s) { return s.splits[nest::IndexId{3}].vec == 4; }},
      {"depth", [](const Schedule &s) { return s.splits[nest::IndexId{6}].tile == 32; }},
      {"box", [](const Schedule &s) { return s.splits[nest::IndexId{1}].tile > 1; }},
      {"warps", [](const Schedule &s) { return s.core.warp_rows * s.core.warp_columns == 2; }},
      {"columns", [](const Schedule &s) { return s.core.op->n == 96; }},
      {"stages", [](const Schedule &s) { return step_stages(s) == 3; }},
  };
}

TEST(MatrixNeighbours, ReachEveryAxis) {
  const nest::Nest nest = residual();
  const Target target = hopper();
  const std::vector<Schedule> all = search::wgmma_schedules(nest, target, false);
  ASSERT_FALSE(all.empty());
  std::map<std::string, Axis> open = axes();
  Random random(1);
  for (int walk = 0; walk < 40 && !open.empty(); ++walk) {
    Schedule at = random.of(all);
    for (int step = 0; step < 12; ++step) {
      const auto next = search::matrix_neighbour(nest, target, at, random);
      if (!next)
        break;
      ASSERT_FALSE(illegal(nest, *next, target)) << to_text(nest, *next);
      EXPECT_EQ(schedule::parse_schedule(nest, to_text(nest, *next)), *next);
      at = *next;
      std::erase_if(open, [&](const auto &axis) { return axis.second(at); });
    }
  }
  for (const auto &[name, axis] : open)
    ADD_FAILURE() << "no step reached " << name;
}

// Neighbouring taps of a filter's gradient come to share a window, and to have rows of their own.
TEST(MatrixNeighbours, ShareWindowsOfTaps) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
  index m 64, r 3, s 3, c 64 | n 4, y 16, x 16
  slot 0 f16 65536, 1 f16 65536, 2 f16 36864
  acc f32 = sum mul
  in 0 + 0 [n:4*16384, y:16*1024, x:16*64, m:64*1]
  in 1 + 0 [n:4*16384, r + y - 1:16?*1024, s + x - 1:16?*64, c:64*1]
  out 2 + 0 [m:64*576, r:3*192, s:3*64, c:64*1]
  post f16(acc)
})");
  const Target target = hopper();
  const std::vector<Schedule> all = search::wgmma_schedules(nest, target, false);
  const auto shares = [](const Schedule &s) { return s.pipes[1].footprint == Footprint::StepHalo; };
  Random random(3);
  std::set<std::pair<bool, bool>> steps; // whether they share, before and behind
  for (int walk = 0; walk < 200; ++walk) {
    const Schedule &at = random.of(all);
    if (const auto next = search::matrix_neighbour(nest, target, at, random)) {
      ASSERT_FALSE(illegal(nest, *next, target)) << to_text(nest, *next);
      steps.insert({shares(at), shares(*next)});
    }
  }
  EXPECT_EQ(steps.size(), 4U);
}

// Fields of a schedule that warps' instructions read.
std::map<std::string, Axis> axes_of_warps() {
  return {
      {"rows", [](const Schedule &s) { return s.core.rows == 48; }},
      {"columns", [](const Schedule &s) { return s.splits[nest::IndexId{3}].tile == 96; }},
      {"vec", [](const Schedule &s) { return s.splits[nest::IndexId{3}].vec == 6; }},
      {"warps.m", [](const Schedule &s) { return s.core.warp_rows == 4; }},
      {"warps.n", [](const Schedule &s) { return s.core.warp_columns == 4; }},
      {"depth", [](const Schedule &s) { return s.splits[nest::IndexId{6}].tile == 16; }},
      {"stages", [](const Schedule &s) { return step_stages(s) == 5; }},
      {"raster", [](const Schedule &s) { return s.tiles.raster == schedule::Raster::Rows; }},
  };
}

TEST(MatrixNeighbours, OfWarps) {
  const nest::Nest nest = residual();
  const Target target = target_row("cuda_sm80");
  const std::vector<Schedule> all = search::core_schedules(nest, target, false);
  ASSERT_FALSE(all.empty());
  std::map<std::string, Axis> open = axes_of_warps();
  Random random(2);
  int changed = 0;
  for (int i = 0; i < 20; ++i)
    if (const auto next = search::matrix_neighbour(nest, target, random.of(all), random)) {
      EXPECT_FALSE(illegal(nest, *next, target)) << to_text(nest, *next);
      ++changed;
    }
  EXPECT_GE(changed, 15);
  for (int walk = 0; walk < 60 && !open.empty(); ++walk) {
    std::optional<Schedule> at = random.of(all);
    for (int step = 0; step < 12 && at; ++step) {
      at = search::matrix_neighbour(nest, target, *at, random);
      std::erase_if(open, [&](const auto &axis) { return at && axis.second(*at); });
    }
  }
  for (const auto &[name, axis] : open)
    ADD_FAILURE() << "no step reached " << name;
}

// Sides of two types trade places by the instruction that takes them so.
TEST(MatrixNeighbours, SwapSidesOfTwoTypes) {
  const nest::Nest nest = nest::parse_nest(R"(nest conv {
  index n 4, y 28, x 28, m 128 | r 3, s 3, c 64
  slot 0 u8 200704, 1 i8 73728, 2 i32 401408
  acc i32 = sum mul
  in 0 + 0 [n:4*50176, y + r - 1:28?*1792, x + s - 1:28?*64, c:64*1]
  in 1 + 0 const [m:128*576, r:3*192, s:3*64, c:64*1]
  out 2 + 0 [n:4*100352, y:28*3584, x:28*128, m:128*1]
  post acc
})");
  std::vector<Schedule> all = search::wgmma_schedules(nest, hopper(), false);
  std::erase_if(all, [](const Schedule &s) { return s.core.swap_ab; });
  ASSERT_FALSE(all.empty());
  Random random(4);
  bool is_swapped = false;
  for (int walk = 0; walk < 40 && !is_swapped; ++walk) {
    std::optional<Schedule> at = random.of(all);
    for (int step = 0; step < 12 && at && !is_swapped; ++step) {
      at = search::matrix_neighbour(nest, hopper(), *at, random);
      is_swapped = at && at->core.swap_ab;
    }
    if (is_swapped) {
      EXPECT_EQ(at->core.op->a.type, DType::I8);
      EXPECT_EQ(at->core.op->b.type, DType::U8);
    }
  }
  EXPECT_TRUE(is_swapped);
}

TEST(MatrixNeighbours, TheSameRandomNumbersGiveTheSame) {
  const nest::Nest nest = residual();
  const Schedule of = search::wgmma_schedules(nest, hopper(), false).front();
  Random one(7), other(7);
  EXPECT_EQ(search::matrix_neighbour(nest, hopper(), of, one),
            search::matrix_neighbour(nest, hopper(), of, other));
}

} // namespace
} // namespace tilefuse::testing
