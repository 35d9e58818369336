// SPDX-License-Identifier: Apache-2.0
// Kernels that are one launch: the classes of strided input gradients, simulated as one kernel for
// every kind of target, against the evaluator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"
#include "base/index.h"
#include "kernel/text/text.h"
#include "launch/arguments.h"
#include "launch/text.h"
#include "lower/launch/lower_launch.h"
#include "model/conv_gradient.h"
#include "model/core_cases.h"
#include "search/forms/core_forms.h"
#include "search/groups.h"
#include "search/network/launches.h"

namespace tilefuse::model {
namespace {

Target cpu() {
  return {.name = "test_cpu",
          .backend = "cpu",
          .isa = "avx2",
          .lanes = LaneKind::Vector,
          .vector_f32 = 8,
          .vector_registers = 16,
          .max_group = 1,
          .compute_units = 2,
          .local_bytes = 262144,
          .fp16_storage = true};
}

// dy * f'(y) in the place of dy, evaluated where it is staged; zeros between pixels read nothing.
poly::PlacedGroup masked(const poly::PlacedGroup &placed) {
  const std::vector<nest::Operand> &inputs = placed.group.anchor.inputs;
  const auto read = std::find_if(inputs.begin(), inputs.end(), [&](const nest::Operand &input) {
    return !input.constant && input.slot == inputs[0].slot;
  });
  if (read == inputs.end())
    return placed;
  const nest::Slot &slot = placed.group.anchor.slots[read->slot];
  std::string indices, dims;
  for (const nest::Dim &dim : read->dims) {
    if (dim.size == 1)
      continue;
    const std::string name = fmt::format("i{}", indices.size());
    indices += fmt::format("{}{} {}", indices.empty() ? "" : ", ", name, dim.size);
    dims += fmt::format("{}{}:{}*{}", dims.empty() ? "" : ", ", name, dim.size, dim.stride);
  }
  const auto type = to_string(slot.type);
  const std::string text = fmt::format(
      "nest map {{ index {0}\n slot 0 {1} {2}, 1 {1} {2}, 2 {1} {2}\n acc {1} = assign\n out 2 + "
      "0 [{3}]\n extra 0 + 0 [{3}]\n extra 1 + 0 [{3}]\n post {1}(select($1 > 0, $0, 0)) }}",
      indices, type, slot.elems, dims);
  const program::BufferId made = placed.buffers[read->slot];
  const poly::PlacedGroup map{
      {nest::parse_nest(text), {}}, {program::BufferId{100}, program::BufferId{101}, made}, "", {}};
  std::string why;
  const auto fused =
      attach(placed, poly::kAnchor, static_cast<int>(read - inputs.begin()), map, &why);
  EXPECT_TRUE(fused) << why;
  return fused.value_or(placed);
}

struct Gradient {
  std::vector<launch::Part> kernels;
  std::vector<launch::Launch> launches;

  Gradient(const GradientConv &problem, const Target &target, bool by_wgmma,
           bool is_masked = false) {
    for (poly::PlacedGroup &placed : placed_gradients(problem, By::Input)) {
      if (is_masked)
        placed = masked(placed);
      const auto all = search::wgmma_schedules(placed.group.anchor, target, false);
      schedule::Schedule schedule =
          by_wgmma && !all.empty() ? all.front() : search::pick(placed.group, target);
      kernels.push_back({std::move(placed), std::move(schedule)});
    }
    choose(target);
  }

  void choose(const Target &target) {
    launches = search::choose_launches(kernels, target, search::pick_of_size(target));
  }
};

using Buffers = std::map<program::BufferId, program::Bytes>;

// Small integers, the result unwritten.
Buffers drawn(const Gradient &gradient) {
  Buffers buffers;
  unsigned state = 7;
  for (const auto &[placed, schedule, chosen_by, place] : gradient.kernels)
    for (std::size_t s = 0; s < placed.buffers.size(); ++s) {
      const nest::Slot slot = group_slots(placed.group)[s];
      const auto [entry, is_new] = buffers.try_emplace(placed.buffers[s]);
      if (!is_new)
        continue;
      const bool is_out = s == at(placed.group.anchor.out.slot);
      entry->second.resize(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
      for (std::int64_t i = 0; i < slot.elems; ++i) {
        state = state * 1664525U + 1013904223U;
        store_element(entry->second.data(), slot.type, i, is_out ? 77 : (state >> 24) % 5 - 2.0);
      }
    }
  return buffers;
}

using Spoil = std::function<void(kernel::Kernel &)>;

// Simulates all launches, with a fault in each kernel; gives the result, and what the evaluator has.
std::pair<program::Bytes, program::Bytes> run(
    const Gradient &gradient, const Target &target, const Spoil &spoil = [](kernel::Kernel &) {}) {
  Buffers got = drawn(gradient);
  Buffers expected = got;
  program::BufferId out{};
  for (const auto &[placed, schedule, chosen_by, place] : gradient.kernels) {
    std::vector<std::span<std::byte>> slots;
    for (const program::BufferId id : placed.buffers)
      slots.emplace_back(expected.at(id));
    poly::evaluate(placed.group, slots);
    out = placed.buffers[placed.group.anchor.out.slot];
  }
  for (const launch::Launch &launch : gradient.launches) {
    EXPECT_EQ(launch::to_text(launch::parse_launch(launch::to_text(launch))),
              launch::to_text(launch));
    kernel::Kernel kernel = lower::lower_launch(launch, target);
    spoil(kernel);
    std::vector<std::span<std::byte>> args;
    for (const launch::Argument &argument : launch::arguments(launch).all)
      args.emplace_back(got.at(buffer_of(launch, argument)));
    kernel::simulate(kernel, args, {.target = target, .count = false});
  }
  return {got.at(out), expected.at(out)};
}

void expect_one_launch(const GradientConv &problem, const Target &target, bool by_wgmma) {
  const Gradient gradient(problem, target, by_wgmma);
  EXPECT_GT(gradient.kernels.size(), 1U);
  EXPECT_EQ(gradient.launches.size(), 1U) << target.name;
  const auto [got, expected] = run(gradient, target);
  EXPECT_EQ(got, expected) << target.name;
}

std::vector<GradientConv> problems() {
  std::vector<GradientConv> list(4);
  list[0] = {.n = 2, .h = 8, .w = 8, .c = 64, .k = 64, .r = 1, .s = 1, .stride = 2, .pad = 0};
  list[1] = {.n = 2, .h = 8, .w = 11, .c = 64, .k = 64, .stride = 2};
  list[2] = {.n = 1, .h = 7, .w = 9, .c = 72, .k = 40, .r = 1, .s = 2, .stride = 3, .pad = 0};
  list[3] = {.n = 2, .h = 7, .w = 5, .c = 24, .k = 16, .r = 2, .s = 1, .stride = 2, .pad = 0};
  return list;
}

TEST(SideBySide, StridedGradientsAreOneLaunch) {
  for (GradientConv problem : problems()) {
    expect_one_launch(problem, sm80(), false);
    expect_one_launch(problem, sm90(), false);
    problem.type = "f32";
    expect_one_launch(problem, sm80(), false);
    expect_one_launch(problem, cpu(), false);
  }
}

TEST(SideBySide, MaskedGradientsAreOneLaunch) {
  for (GradientConv problem : problems()) {
    problem.type = "f32";
    for (const Target &target : {sm80(), cpu()}) {
      const Gradient gradient(problem, target, false, true);
      EXPECT_GT(gradient.kernels.size(), 1U);
      EXPECT_FALSE(gradient.kernels[0].placed.group.producers.empty());
      EXPECT_EQ(gradient.launches.size(), 1U) << target.name;
      const auto [got, expected] = run(gradient, target);
      EXPECT_EQ(got, expected) << target.name;
    }
  }
}

// The first part's own stores write zeros that lie as far from each result; idle warps the others.
TEST(SideBySide, WgmmaWritesZeros) {
  for (const GradientConv &problem : {problems()[0], problems()[1], problems()[2]}) {
    expect_one_launch(problem, sm90(), true);
    const Gradient gradient(problem, sm90(), true);
    const std::string text = kernel::to_text(lower::lower_launch(gradient.launches[0], sm90()));
    const bool has_dealt = gradient.launches[0].parts.back().place == launch::Place::Dealt;
    EXPECT_EQ(text.find("item") != std::string::npos, has_dealt);
  }
}

int count_of(const Gradient &gradient, launch::Place place) {
  const std::vector<launch::Part> &parts = gradient.launches[0].parts;
  return static_cast<int>(std::count_if(
      parts.begin(), parts.end(), [&](const launch::Part &part) { return part.place == place; }));
}

// Images of even and odd sizes: constants beside every result, or beside all but the last ones.
TEST(SideBySide, ZerosBesideResults) {
  GradientConv problem{
      .n = 2, .h = 8, .w = 8, .c = 64, .k = 64, .r = 1, .s = 1, .stride = 2, .pad = 0};
  for (const auto &[h, w] : {std::pair(8, 8), {7, 9}, {9, 8}})
    for (const bool by_wgmma : {true, false}) {
      problem.h = h;
      problem.w = w;
      expect_one_launch(problem, sm90(), by_wgmma);
      EXPECT_EQ(count_of(Gradient(problem, sm90(), by_wgmma), launch::Place::Between), 3)
          << h << " " << w;
    }
}

// Whether a fault of a launch shows: by the simulator or by the result.
bool is_found(Gradient gradient, const Target &target,
              const std::function<void(launch::Launch &)> &spoil, const Spoil &of_kernel) {
  spoil(gradient.launches[0]);
  try {
    const auto [got, expected] = run(gradient, target, of_kernel);
    return got != expected;
  } catch (const Error &) {
    return true;
  }
}

// Faults of what puts kernels into one launch: parts, the blocks they have, whom a part's work is
// dealt to.
TEST(SideBySide, PlantedFaultsAreFound) {
  const auto nothing = [](auto &) {};
  const auto lose_part = [](launch::Launch &of) { of.parts.pop_back(); };
  const auto repeat_part = [](launch::Launch &of) { of.parts.back() = of.parts[1]; };
  const auto lose_block = [](kernel::Kernel &of) { --of.blocks; };
  const auto begin_late = [](kernel::Kernel &of) {
    std::string text = to_text(of);
    const std::size_t at = text.find("block - ");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 8, "block - 1 - ");
    of = kernel::parse_kernel(text);
  };
  GradientConv by_blocks = problems()[1];
  by_blocks.type = "f32";
  for (const Target &target : {sm80(), sm90()}) {
    const Gradient gradient(by_blocks, target, false);
    ASSERT_EQ(count_of(gradient, launch::Place::Blocks), 4);
    EXPECT_FALSE(is_found(gradient, target, nothing, nothing));
    EXPECT_TRUE(is_found(gradient, target, lose_part, nothing));
    EXPECT_TRUE(is_found(gradient, target, repeat_part, nothing));
    EXPECT_TRUE(is_found(gradient, target, nothing, lose_block));
    EXPECT_TRUE(is_found(gradient, target, nothing, begin_late));
  }
  const Gradient dealt(problems()[2], sm90(), true);
  ASSERT_GT(count_of(dealt, launch::Place::Dealt), 0);
  EXPECT_FALSE(is_found(dealt, sm90(), nothing, nothing));
  EXPECT_TRUE(is_found(dealt, sm90(), lose_part, nothing));
  EXPECT_TRUE(is_found(dealt, sm90(), nothing, lose_block));
}

// More tiles than blocks, so that blocks take several of each class.
TEST(SideBySide, ClassesInStep) {
  Target target = sm90();
  target.compute_units = 2;
  for (const int stride : {2, 3})
    for (const auto &[h, w] : {std::pair(28, 28), {25, 27}}) {
      const GradientConv problem{.n = 8, .h = h, .w = w, .c = 128, .k = 64, .stride = stride};
      const Gradient gradient(problem, target, true);
      if (stride == 2) {
        EXPECT_EQ(count_of(gradient, launch::Place::InStep), 3) << h << " " << w;
      }
      const auto [got, expected] = run(gradient, target);
      EXPECT_EQ(got, expected) << stride << " " << h << " " << w;
    }
}

// One class would take another tile than the slowest, by a little: it takes that one's.
TEST(SideBySide, ClassesFollowTheSlowest) {
  Target target = sm90();
  target.compute_units = 2;
  Gradient gradient({.n = 3, .h = 25, .w = 28, .c = 128, .k = 192, .stride = 2}, target, true);
  for (std::size_t g = 0; g < gradient.kernels.size(); ++g)
    for (const schedule::Schedule &each :
         search::wgmma_schedules(gradient.kernels[g].placed.group.anchor, target, false))
      if (each.core.rows == 128 && each.core.op->n == 128 &&
          each.roles.math.instances == (g == 1 ? 1 : 2) && each.store != schedule::Store::Tma &&
          halo_stages(each) == 0 && !each.core.swap_ab)
        gradient.kernels[g].schedule = each;
  ASSERT_FALSE(multiply_alike(gradient.kernels[1].schedule, gradient.kernels[0].schedule));
  for (launch::Part &kernel : gradient.kernels)
    kernel.chosen_by = "tuned on this device";
  gradient.choose(target);
  EXPECT_EQ(count_of(gradient, launch::Place::InStep), 3);
  int changed = 0;
  for (const launch::Part &part : gradient.launches[0].parts) {
    EXPECT_TRUE(multiply_alike(part.schedule, gradient.kernels[0].schedule));
    changed += part.chosen_by == search::kForLaunch ? 1 : 0;
  }
  EXPECT_EQ(gradient.launches[0].parts[0].chosen_by, "tuned on this device");
  EXPECT_EQ(changed, 1);
}

// Groups that only look alike, of two statements or of none that is known, share no launch.
TEST(SideBySide, ClassesAreOfOneStatement) {
  Gradient gradient(problems()[1], sm80(), false);
  ASSERT_EQ(gradient.kernels.size(), 4U);
  ASSERT_EQ(gradient.launches.size(), 1U);
  for (const launch::Part &kernel : gradient.kernels)
    EXPECT_EQ(kernel.placed.statement, gradient.kernels[0].placed.statement);
  for (const auto &[first, second] : {std::pair(7, 8), {-1, -1}}) {
    for (launch::Part &kernel : gradient.kernels)
      kernel.placed.statement = &kernel == &gradient.kernels[0] ? first : second;
    gradient.choose(sm80());
    EXPECT_EQ(gradient.launches.size(), first < 0 ? 4U : 2U);
  }
}

// Two groups that take tiles in turn, with fewer tiles for one than for the other; results leave as
// work-items have them, or in boxes of images that have gaps.
TEST(SideBySide, ClassesInStepInTurns) {
  Target target = sm90();
  target.compute_units = 2;
  for (const auto &[images, in_boxes] : {std::pair(3, false), {5, false}, {3, true}, {5, true}}) {
    const GradientConv problem{.n = images, .h = 25, .w = 28, .c = 128, .k = 192, .stride = 2};
    Gradient gradient(problem, target, true);
    for (std::size_t g = 0; g < gradient.kernels.size(); ++g)
      for (const schedule::Schedule &each :
           search::wgmma_schedules(gradient.kernels[g].placed.group.anchor, target, false))
        if (each.roles.math.instances == 2 && each.core.rows == 128 &&
            (each.store == schedule::Store::Tma) == in_boxes && halo_stages(each) == 0 &&
            each.core.op->n == 128 && !each.core.swap_ab)
          gradient.kernels[g].schedule = each;
    gradient.choose(target);
    EXPECT_EQ(gradient.kernels[0].schedule.store == schedule::Store::Tma, in_boxes);
    EXPECT_EQ(count_of(gradient, launch::Place::InStep), 3) << images;
    const auto [got, expected] = run(gradient, target);
    EXPECT_EQ(got, expected) << images;
  }
}

} // namespace
} // namespace tilefuse::model
