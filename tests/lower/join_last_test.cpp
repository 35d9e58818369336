// SPDX-License-Identifier: Apache-2.0
// Parts of a reduction joined in the launch that computes them: simulated with blocks in several
// orders, against the evaluator and bit by bit against two launches; and faults planted in it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "base/index.h"
#include "kernel/text/text.h"
#include "launch/arguments.h"
#include "launch/text.h"
#include "lower/launch/lower_launch.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/plan/pack.h"
#include "nest/flatten/split.h"
#include "schedule/lane_reduction.h"
#include "schedule/members.h"
#include "search/forms/core_forms.h"
#include "search/network/launches.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

using Buffers = std::map<program::BufferId, program::Bytes>;

Target opencl() {
  Target target = sm80();
  target.name = "test_opencl";
  target.backend = "opencl";
  target.isa = "CL1.2 device_atomics";
  return testing::with_row(target, "opencl_gpu");
}

// The best schedule whose work-items add parts one after the other, as the joins of one launch do; the best of all may
// deal them over lanes, and so add them in another order.
schedule::Schedule in_order(const nest::Nest &join, const Target &target) {
  for (const search::Candidate &each : search::candidates(join, target, 100))
    if (schedule::lane_rounds(join, each.schedule).empty() &&
        !schedule::has_reduced_vector(join, each.schedule))
      return each.schedule;
  throw Error(ErrorCode::Unsupported, "no schedule adds parts in order");
}

// A reduction in parts, as one launch or two.
struct Joined {
  std::vector<launch::Launch> launches;

  Joined(const nest::SplitNests &nests, const schedule::Schedule &partial, const Target &target,
         bool in_one) {
    constexpr program::BufferId kScratch{100};
    std::vector<launch::Part> kernels;
    const auto add = [&](const nest::Nest &nest,
                         const std::vector<std::optional<nest::SlotId>> &slots, bool joins,
                         schedule::Schedule schedule) {
      std::vector<program::BufferId> ids;
      for (const std::optional<nest::SlotId> slot : slots)
        ids.push_back(slot ? program::BufferId{to_int(*slot)} : kScratch);
      kernels.push_back({{{nest, {}}, ids, "conv", {}, joins}, std::move(schedule)});
    };
    add(nests.partial, nests.partial_slots, false, partial);
    add(nests.join, nests.join_slots, true, in_order(nests.join, target));
    launches = search::choose_launches(std::move(kernels), target, search::pick_of_size(target),
                                       in_one ? search::Sharing::Any : search::Sharing::None);
  }

  void run(const Target &target, std::uint32_t shuffle, Buffers &buffers) const {
    for (const launch::Launch &launch : launches)
      simulate(lower::lower_launch(launch, target), launch, target, shuffle, buffers);
  }

  static void simulate(const kernel::Kernel &kernel, const launch::Launch &launch,
                       const Target &target, std::uint32_t shuffle, Buffers &buffers) {
    const launch::Arguments arguments = launch::arguments(launch);
    std::vector<program::Bytes> packed(arguments.all.size());
    std::vector<std::span<std::byte>> args;
    for (const launch::Argument &argument : arguments.all) {
      program::Bytes &bytes = buffers.at(buffer_of(launch, argument));
      const launch::Part &part = launch.parts[argument.part];
      if (!argument.arg.slot)
        packed[args.size()] = pack(part.placed.group, part.schedule, argument.arg, bytes);
      args.emplace_back(!argument.arg.slot ? packed[args.size()] : bytes);
    }
    kernel::simulate(kernel, args, {.target = target, .shuffle = shuffle, .count = false});
  }
};

// Of the whole nest's slots and the parts; whole numbers, or ones whose sums are rounded.
Buffers drawn(const nest::Nest &nest, const nest::Nest &join, bool is_whole) {
  Buffers buffers;
  unsigned state = 7;
  for (std::size_t s = 0; s < nest.slots.size(); ++s) {
    const nest::Slot &slot = nest.slots[s];
    program::Bytes &bytes = buffers[program::BufferId{static_cast<int>(s)}];
    bytes.resize(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    for (std::int64_t i = 0; i < slot.elems; ++i) {
      state = state * 1664525U + 1013904223U;
      store_element(bytes.data(), slot.type, i,
                    is_whole ? (state >> 24) % 5 - 2.0 : (state >> 8) * 0x1p-23 - 1.0);
    }
  }
  const nest::Slot &scratch = join.slots[join.inputs[0].slot];
  buffers[program::BufferId{100}].resize(
      static_cast<std::size_t>(scratch.elems * size_bytes(scratch.type)));
  return buffers;
}

program::Bytes expected(const poly::Group &group, Buffers buffers) {
  std::vector<std::span<std::byte>> slots;
  for (std::size_t s = 0; s < group.anchor.slots.size(); ++s)
    slots.emplace_back(buffers.at(program::BufferId{static_cast<int>(s)}));
  poly::evaluate(group, slots);
  return buffers.at(program::BufferId{to_int(group.anchor.out.slot)});
}

// Every `each`-th schedule of the parts that a join fits; gives how many.
int check(const poly::Group &group, const std::string &split, const Target &target,
          std::vector<schedule::Schedule> (*forms)(const nest::Nest &, const Target &),
          std::size_t each) {
  const nest::Nest &nest = group.anchor;
  const nest::SplitNests nests = split_reduction(nest, nest::parse_split(nest, split), true);
  const program::BufferId out{to_int(nest.out.slot)};
  const Buffers whole = drawn(nest, nests.join, true);
  const Buffers real = drawn(nest, nests.join, false);
  const program::Bytes want = expected(group, whole);
  int checked = 0;
  std::size_t seen = 0;
  for (const schedule::Schedule &schedule : forms(nests.partial, target)) {
    if (!tile_join(nests.partial, schedule, nests.join, target).refusal.empty() ||
        seen++ % each != 0)
      continue;
    const Joined one(nests, schedule, target, true);
    const Joined two(nests, schedule, target, false);
    EXPECT_EQ(one.launches.size(), 1U);
    EXPECT_EQ(two.launches.size(), 2U);
    const std::string launch = launch::to_text(one.launches[0]);
    EXPECT_EQ(launch::to_text(launch::parse_launch(launch)), launch);
    const std::string text = to_text(nests.partial, schedule);
    for (const std::uint32_t shuffle : {0U, 1U}) {
      Buffers got = whole;
      one.run(target, shuffle, got);
      EXPECT_TRUE(got.at(out) == want) << text;
    }
    Buffers together = real;
    Buffers apart = real;
    one.run(target, 3, together);
    two.run(target, 0, apart);
    EXPECT_TRUE(together.at(out) == apart.at(out)) << text;
    ++checked;
  }
  return checked;
}

std::vector<schedule::Schedule> picked(const nest::Nest &nest, const Target &target) {
  std::vector<schedule::Schedule> all;
  for (search::Candidate &candidate : search::candidates(nest, target, 40))
    if (!has_core(candidate.schedule))
      all.push_back(std::move(candidate.schedule));
  return all;
}

std::vector<schedule::Schedule> core(const nest::Nest &nest, const Target &target) {
  return search::core_schedules(nest, target, false);
}

std::vector<schedule::Schedule> every_wgmma(const nest::Nest &nest, const Target &target,
                                            bool is_swapped) {
  Target wide = target; // so that every tile has a block
  wide.compute_units = 200;
  std::vector<schedule::Schedule> all = search::every_wgmma_schedule(nest, wide, false);
  std::erase_if(all, [&](const auto &one) { return one.core.swap_ab != is_swapped; });
  return all;
}

std::vector<schedule::Schedule> wgmma(const nest::Nest &nest, const Target &target) {
  return every_wgmma(nest, target, false);
}

std::vector<schedule::Schedule> swapped(const nest::Nest &nest, const Target &target) {
  return every_wgmma(nest, target, true);
}

// Tiles of rows change fastest.
std::vector<schedule::Schedule> by_rows(std::vector<schedule::Schedule> all) {
  for (schedule::Schedule &schedule : all)
    schedule.tiles.raster = schedule::Raster::Rows;
  return all;
}

std::vector<schedule::Schedule> core_by_rows(const nest::Nest &nest, const Target &target) {
  return by_rows(core(nest, target));
}

std::vector<schedule::Schedule> wgmma_by_rows(const nest::Nest &nest, const Target &target) {
  return by_rows(wgmma(nest, target));
}

TEST(JoinLast, WorkItems) {
  const Conv odd{.h = 7, .w = 5, .c = 24, .k = 20, .in = "f32", .out = "f32"};
  const Conv plain{.n = 2,
                   .h = 4,
                   .w = 6,
                   .c = 32,
                   .k = 64,
                   .r = 1,
                   .s = 1,
                   .pad = 0,
                   .in = "f32",
                   .out = "f32"};
  EXPECT_GT(check(group_of(odd), "c:4", sm80(), picked, 9), 0);
  EXPECT_GT(check(group_of(odd), "c:4 r:3", opencl(), picked, 9), 0);
  EXPECT_GT(check(group_of(plain), "c:8", opencl(), picked, 9), 0);
}

TEST(JoinLast, MatrixInstructions) {
  const Conv odd{.h = 9, .w = 7, .c = 64, .k = 72};
  const Conv plain{.n = 2, .h = 8, .w = 8, .c = 128, .k = 64, .r = 1, .s = 1, .pad = 0};
  EXPECT_GT(check(group_of(odd), "c:2", sm80(), core, 60), 0);
  EXPECT_GT(check(group_of(plain), "c:4", sm80(), core, 60), 0);
  EXPECT_GT(check(group_of(odd), "c:2", sm80(), core_by_rows, 90), 0);
}

TEST(JoinLast, WarpSpecialised) {
  const Conv odd{.h = 9, .w = 7, .c = 128, .k = 72};
  const Conv plain{.n = 2, .h = 8, .w = 8, .c = 256, .k = 64, .r = 1, .s = 1, .pad = 0};
  const std::size_t each = testing::by_night(6, 24);
  EXPECT_GT(check(group_of(odd), "c:2", sm90(), wgmma, 2 * each), 0);
  EXPECT_GT(check(group_of(plain), "c:4", sm90(), wgmma, 2 * each), 0);
  EXPECT_GT(check(group_of(odd), "c:2", sm90(), swapped, each), 0);
  EXPECT_GT(check(group_of(plain), "c:4", sm90(), swapped, each), 0);
  EXPECT_GT(check(group_of(odd), "c:2", sm90(), wgmma_by_rows, 4 * each), 0);
}

// What the simulator says of the kernel with some of its text replaced.
std::string fault_of(const std::string &from, const std::string &to) {
  const Target target = sm80();
  const poly::Group group = group_of({.c = 64, .k = 64});
  const nest::SplitNests nests =
      split_reduction(group.anchor, nest::parse_split(group.anchor, "c:2"), true);
  const Joined joined(nests, core(nests.partial, target)[0], target, true);
  std::string text = to_text(lower::lower_launch(joined.launches[0], target));
  const std::size_t at = text.rfind(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Buffers buffers = drawn(group.anchor, nests.join, true);
  try {
    joined.simulate(kernel::parse_kernel(text), joined.launches[0], target, 1, buffers);
  } catch (const Error &error) {
    return error.message();
  }
  return {};
}

TEST(JoinLast, PlantedFaultsAreFound) {
  EXPECT_EQ(fault_of("found[0] == 1", "found[0] == 1"), "");
  EXPECT_NE(fault_of("found[0] == 1", "found[0] == 0").find("read before it is written"),
            std::string::npos);
  EXPECT_NE(fault_of("found[0] == 1", "found[0] <= 1").find("read before it is written"),
            std::string::npos);
  EXPECT_NE(fault_of("  barrier\n  if lane == 0 {\n    ticket", "  if lane == 0 {\n    ticket")
                .find("no barrier after the write"),
            std::string::npos);
  EXPECT_NE(fault_of("  }\n  barrier\n  if found", "  }\n  if found").find("found[0]"),
            std::string::npos);
  EXPECT_NE(fault_of("] = 0\n", "] = 1\n").find("is not back at 0"), std::string::npos);
}

} // namespace
} // namespace tilefuse::model
