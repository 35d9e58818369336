// SPDX-License-Identifier: Apache-2.0
// Schedules with wgmma whose steps are taken in parts by the blocks of a cluster: each computes
// what the nest says, bit by bit what parts and a join of their own do; barriers that are missing
// are found; what does not combine says why.
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/text/text.h"
#include "lower/launch/lower_launch.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "nest/flatten/split.h"
#include "schedule/legal.h"
#include "schedule/mma/core.h"
#include "schedule/text.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/part_forms.h"
#include "search/network/launches.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

constexpr std::array<std::int64_t, 3> kParts = {2, 4, 8};

// Hopper with as many multiprocessors: with many no cluster takes several tiles.
Target sm90_of(int units) {
  Target target = sm90();
  target.compute_units = units;
  return target;
}

// Every tile in every number of parts that is legal.
std::vector<Schedule> in_parts(const nest::Nest &nest, const Target &target) {
  std::vector<Schedule> all = search::every_wgmma_schedule(nest, target, false);
  if (all.empty())
    all = search::every_wgmma_schedule(nest, target, true);
  std::vector<Schedule> found;
  for (const Schedule &each : all)
    for (const std::int64_t parts : kParts)
      if (auto one = search::with_parts(nest, each, target, parts))
        found.push_back(*std::move(one));
  return found;
}

// Every `each`-th of them, from one on that differs between groups.
int check_some(const poly::Group &group, std::size_t each, std::size_t from, int units) {
  const Target target = sm90_of(units);
  std::vector<Schedule> all = in_parts(group.anchor, target);
  EXPECT_FALSE(all.empty()) << to_text(group.anchor);
  all.erase(all.begin(),
            all.begin() + static_cast<std::ptrdiff_t>(from % std::min(each, all.size())));
  return check_schedules(group, target, all, each);
}

TEST(WgmmaParts, ComputeTheirNest) {
  const std::vector<Conv> problems = {
      {.h = 12, .w = 12, .c = 256, .k = 64, .r = 1, .s = 1, .pad = 0},
      {.n = 3, .h = 9, .w = 9, .c = 64, .k = 192},
      {.n = 2, .h = 10, .w = 8, .c = 48, .k = 40, .dilation = 2, .pad = 2},
      {.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3},
      {.h = 7, .w = 7, .c = 320, .k = 320, .r = 1, .s = 1, .pad = 0},
      {.n = 5, .h = 1, .w = 1, .c = 512, .k = 64, .r = 1, .s = 1, .pad = 0},
      {.c = 64, .k = 48, .in = "bf16"},
      {.c = 64, .k = 128, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
      {.c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"}};
  std::size_t number = 0;
  int checked = 0;
  for (const Conv &problem : problems)
    for (const int units : {2, 200})
      checked += check_some(group_of(problem), 41, 5 * number++, units);
  EXPECT_GE(checked, 18);
}

// A turned filter, strides by classes; both inputs turned, panels of several taps.
TEST(WgmmaParts, ComputeGradients) {
  std::size_t number = 0;
  for (const By by : {By::Input, By::Filter})
    for (const GradientConv &problem :
         {GradientConv{.n = 3, .c = 64, .k = 128},
          GradientConv{.n = 2, .c = 192, .k = 72, .stride = 2},
          GradientConv{.n = 7, .c = 128, .k = 320, .r = 1, .s = 1, .pad = 0}})
      for (const poly::Group &group : gradients(problem, by))
        for (const int units : {2, 200})
          if (!in_parts(group.anchor, sm90_of(units)).empty())
            check_some(group, 37, 5 * number++, units);
  EXPECT_GE(number, 6U);
}

TEST(WgmmaParts, ComputeGroupsAndBlocksOfChannels) {
  check_some(nchw32(2, 4, 7, 2, 3), 9, 1, 2);
  check_some(nchw32(1, 6, 7, 4, 1), 9, 2, 200);
  check_some(nchw32(2, 4, 9, 2, 3, 2), 9, 1, 2); // rows begin at even pixels
}

TEST(WgmmaParts, NamedFormsComputeOddShapes) {
  for (const Conv &shape :
       {Conv{.n = 3, .h = 11, .w = 13, .c = 64, .k = 24, .r = 5, .s = 2, .stride = 3, .pad = 2},
        Conv{.h = 13, .w = 9, .c = 64, .k = 64, .dilation = 2, .pad = 2}})
    for (const int units : {2, 132}) {
      const poly::Group group = group_of(shape);
      const Target target = sm90_of(units);
      const auto named = search::named_core_schedule("wgmma_parts", group.anchor, target);
      ASSERT_TRUE(named.schedule) << named.refusal;
      EXPECT_EQ(named.schedule->tiles.cluster(), named.schedule->tiles.split_k);
      EXPECT_EQ(named.schedule->tiles.split_k, units == 2 ? 2 : 4);
      check_schedules(group, target, {*named.schedule}, 1);
    }
}

std::vector<program::Bytes> drawn(const nest::Nest &nest) {
  std::vector<program::Bytes> slots;
  unsigned state = 7;
  for (const nest::Slot &slot : nest.slots) {
    program::Bytes &bytes = slots.emplace_back();
    bytes.resize(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i) {
      state = state * 1664525U + 1013904223U;
      store_element(bytes.data(), slot.type, i, (state >> 8) * 0x1p-23 - 1.0);
    }
  }
  return slots;
}

// What is in the result's slot.
program::Bytes simulated(const poly::Group &group, const Schedule &schedule, const Target &target,
                         std::vector<program::Bytes> slots, const std::string &text) {
  std::vector<program::Bytes> packed;
  const auto args = kernel_arguments(group, schedule, slots, packed);
  kernel::simulate(kernel::parse_kernel(text), args, simulation_options(group, schedule, target));
  return slots[at(group.anchor.out.slot)];
}

program::Bytes simulated(const poly::Group &group, const Schedule &schedule, const Target &target,
                         std::vector<program::Bytes> slots) {
  return simulated(group, schedule, target, std::move(slots),
                   to_text(lower::lower(group, schedule, target)));
}

// Parts by themselves, and their sums in order.
TEST(WgmmaParts, SumsAreThoseOfAJoin) {
  const Target target = sm90_of(200);
  for (const std::int64_t parts : kParts) {
    const poly::Group group = group_of({.n = 2,
                                        .h = 6,
                                        .w = 6,
                                        .c = 1024,
                                        .k = 128,
                                        .r = 1,
                                        .s = 1,
                                        .pad = 0,
                                        .post = "f16(acc)"});
    const nest::Nest &nest = group.anchor;
    const nest::SplitNests nests =
        split_reduction(nest, nest::parse_split(nest, fmt::format("c:{}", parts)));
    const std::vector<Schedule> all = search::every_wgmma_schedule(nest, target, false);
    const std::vector<Schedule> partial =
        search::every_wgmma_schedule(nests.partial, target, false);
    int compared = 0;
    for (const std::size_t i : testing::steps(all.size(), 9)) {
      const auto one = search::with_parts(nest, all[i], target, parts);
      if (!one)
        continue;
      const auto same = std::find_if(partial.begin(), partial.end(), [&](const Schedule &each) {
        return gemm_of(nests.partial, each).tile.depth == gemm_of(nest, *one).tile.depth;
      });
      ASSERT_NE(same, partial.end());
      const std::vector<program::Bytes> slots = drawn(nest);
      std::vector<program::Bytes> of_partial = drawn(nests.partial);
      for (std::size_t s = 0; s < of_partial.size(); ++s)
        if (const std::optional<nest::SlotId> from = nests.partial_slots[s])
          of_partial[s] = slots[at(*from)];
      const program::Bytes scratch =
          simulated({nests.partial, {}}, *same, target, std::move(of_partial));
      const program::Bytes got = simulated(group, *one, target, slots);
      program::Bytes want(got.size());
      const std::int64_t elems = nest::output_points(nest);
      for (std::int64_t e = 0; e < elems; ++e) {
        double sum = load_element(scratch.data(), DType::F32, e);
        for (std::int64_t p = 1; p < parts; ++p)
          sum = static_cast<float>(sum + load_element(scratch.data(), DType::F32, p * elems + e));
        store_element(want.data(), DType::F16, e, sum);
      }
      EXPECT_TRUE(got == want) << to_text(nest, *one);
      ++compared;
    }
    EXPECT_GE(compared, 2);
  }
}

// What the simulator says of a kernel whose clusters take several tiles, some of its text replaced.
std::string fault_of(const std::string &from, const std::string &to, int units) {
  const Target target = sm90_of(units);
  const poly::Group group =
      group_of({.n = 8, .h = 4, .w = 4, .c = 128, .k = 128, .r = 1, .s = 1, .pad = 0});
  const auto schedule = search::with_parts(
      group.anchor, search::wgmma_schedules(group.anchor, target, false).back(), target, 2);
  EXPECT_TRUE(schedule);
  std::string text = to_text(lower::lower(group, *schedule, target));
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << text;
  text.replace(at, from.size(), to);
  try {
    simulated(group, *schedule, target, drawn(group.anchor), text);
  } catch (const Error &error) {
    return error.message();
  }
  return {};
}

TEST(WgmmaParts, PlantedFaultsAreFound) {
  const std::string given = "mbarrier_wait given[0] phase[0] cluster\n";
  const std::string taken = "mbarrier_wait given[1] 1 - phase[0] cluster\n";
  EXPECT_EQ(fault_of(given, given, 2), "");
  EXPECT_NE(fault_of(given, "", 2).find("parts["), std::string::npos);
  EXPECT_NE(fault_of(taken, "", 2).find("is written with no barrier after the read"),
            std::string::npos);
  EXPECT_NE(fault_of(" rank 1]", " rank 2]", 2).find("the rank of a load needs i32 from 0 to 1"),
            std::string::npos);
  const std::string end = "    }\n  }\n  barrier cluster\n}";
  EXPECT_NE(fault_of(end, "    }\n  }\n}", 200).find("which may have ended"), std::string::npos);
}

TEST(WgmmaParts, TextsReadBack) {
  const poly::Group group = group_of({.c = 64, .k = 128});
  for (const Schedule &schedule : in_parts(group.anchor, sm90())) {
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
    const kernel::Kernel kernel = lower::lower(group, schedule, sm90());
    EXPECT_EQ(kernel.cluster, schedule.tiles.split_k);
    EXPECT_EQ(to_text(kernel::parse_kernel(to_text(kernel))), to_text(kernel));
  }
}

TEST(WgmmaParts, RefusalsSayWhy) {
  const nest::Nest conv = group_of({.n = 8, .c = 64, .k = 256}).anchor;
  const auto refusal = [&](auto change) {
    const auto all = search::wgmma_schedules(conv, sm90(), false);
    Schedule schedule = all.at(0);
    schedule.tiles.split_k = 2;
    schedule.tiles.persistent = 0;
    set_step_stages(schedule, 2);
    change(schedule);
    return illegal(conv, schedule, sm90()).value_or("");
  };
  EXPECT_EQ(refusal([](Schedule &each) { each.tiles.split_k = 3; }),
            "3 blocks of a cluster add parts of a tile; it needs 1, 2, 4 or 8");
  EXPECT_EQ(refusal([](Schedule &each) { each.tiles.split_k = 16; }),
            "16 blocks of a cluster add parts of a tile; it needs 1, 2, 4 or 8");
  EXPECT_EQ(refusal([](Schedule &each) { each.tiles.cluster_m = 2; }),
            "cluster and split_k exclude each other: blocks of a cluster have one number, which is "
            "one or the other");
  EXPECT_EQ(refusal([](Schedule &each) { each.tiles.persistent = 3; }),
            "persistent is 3; it needs 0 or more, in units of 2");
  EXPECT_EQ(refusal([](Schedule &each) { set_step_stages(each, 4); }),
            "staging needs 328704 bytes per block, the target has 232448");
  const nest::Nest few = group_of({.c = 64, .k = 256, .r = 1, .s = 1, .pad = 0}).anchor;
  Schedule halves = search::wgmma_schedules(few, sm90(), false).at(0);
  halves.tiles.split_k = 2;
  halves.tiles.persistent = 0;
  EXPECT_EQ(illegal(few, halves, sm90()), "split_k is 2; it needs 1 to 1");
  Target old = sm90();
  old.features = sm80().features;
  EXPECT_EQ(illegal(conv, search::wgmma_schedules(conv, sm90(), false).at(0), old),
            "m64n128k16.f16.f32 needs work-items and a target with warpgroup_matrix");
}

// Kernels that are one launch leave their clusters.
TEST(WgmmaParts, NotBesideOthers) {
  std::vector<launch::Part> kernels;
  for (poly::PlacedGroup &placed :
       placed_gradients({.n = 2, .c = 64, .k = 64, .stride = 2}, By::Input)) {
    const auto all = search::wgmma_schedules(placed.group.anchor, sm90(), false);
    Schedule in_parts =
        search::with_parts(placed.group.anchor, all.back(), sm90(), 2).value_or(all.back());
    kernels.push_back({std::move(placed), std::move(in_parts)});
  }
  const auto launches =
      search::choose_launches(std::move(kernels), sm90(), search::pick_of_size(sm90()));
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(lower::lower_launch(launches[0], sm90()).cluster, 1);
}

} // namespace
} // namespace tilefuse::model
