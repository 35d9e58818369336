// SPDX-License-Identifier: Apache-2.0
// Maps in the ring of matrix instructions: what they give is what maps on their own would store,
// with the padding behind them (L10), for convolutions and gradients of any stride and odd size.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "poly/post_ops.h"
#include "schedule/legal.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/text.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"
#include "search/forms/fed_forms.h"
#include "search/forms/roles.h"
#include "search/groups.h"
#include "search/network/fusion.h"
#include "search/network/split_groups.h"
#include "support/fed_group.h"

namespace tilefuse::model {
namespace {

std::vector<schedule::Schedule> schedules_of(const poly::Group &group, const Target &target) {
  std::vector<schedule::Schedule> all = search::fed_core_schedules(group, target, false);
  return all.empty() ? search::fed_core_schedules(group, target, true) : all;
}

std::vector<schedule::Schedule> wgmma_of(const poly::Group &group) {
  std::vector<schedule::Schedule> all = schedules_of(group, sm90());
  std::erase_if(all, [](const schedule::Schedule &each) { return !is_wgmma(*each.core.op); });
  return all;
}

std::vector<Conv> problems() {
  std::vector<Conv> list(7);
  list[1].stride = 2;
  list[2] = {.h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0};
  list[3] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 5, .w = 11, .c = 20, .k = 17, .r = 5, .s = 2, .stride = 3};
  list[5] = {.c = 6, .k = 9, .in = "bf16"}; // copies of 4 bytes
  list[6] = {.c = 12, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"};
  return list;
}

TEST(CoreFeeds, ActivationsBeforeConvolutions) {
  for (const Conv &problem : problems())
    for (const poly::Group &group :
         {normalised(group_of(problem), 0), masked(group_of(problem), 0)}) {
      const auto all = schedules_of(group, sm80());
      EXPECT_FALSE(all.empty()) << to_text(group);
      check_schedules(group, sm80(), all, 16);
    }
}

TEST(CoreFeeds, MasksBeforeGradients) {
  for (const GradientConv &conv :
       {GradientConv{.n = 2, .c = 32, .k = 40},
        {.c = 16, .k = 24, .stride = 2},
        {.n = 3, .h = 5, .w = 5, .c = 24, .k = 32, .r = 1, .s = 1, .pad = 0}})
    for (const By by : {By::Input, By::Filter})
      for (const poly::Group &group : gradients(conv, by)) {
        if (group.anchor.inputs.size() != 2)
          continue;
        poly::Group both = masked(group, 0);
        if (by == By::Filter)
          both = normalised(both, 1);
        const auto all = schedules_of(both, sm80());
        EXPECT_FALSE(all.empty()) << to_text(both);
        check_schedules(both, sm80(), all, 24);
      }
}

std::vector<Conv> wgmma_problems() {
  std::vector<Conv> list(7);
  list[0] = {.h = 12, .w = 12, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0};
  list[1] = {.n = 2, .c = 64, .k = 64};
  list[2] = {.n = 3, .c = 32, .k = 32, .stride = 2};
  list[3] = {.n = 2, .h = 10, .w = 8, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3, .in = "bf16"};
  list[5] = {.c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"};
  list[6] = {.n = 2, .h = 5, .w = 5, .c = 72, .k = 64}; // a depth of 72 in steps of 64
  return list;
}

TEST(CoreFeeds, WarpsThatMapBesideWgmma) {
  int checked = 0;
  for (const Conv &problem : wgmma_problems())
    for (const poly::Group &group :
         {normalised(group_of(problem), 0), masked(group_of(problem), 0)}) {
      const auto all = wgmma_of(group);
      EXPECT_FALSE(all.empty()) << to_text(group);
      checked += check_schedules(group, sm90(), all, 10);
    }
  EXPECT_GE(checked, 25);
}

// Each element of a window once for all taps, beside a filter that is kept or streams, by warps of
// their own or by those that copy windows too, up to two windows of a tile.
TEST(CoreFeeds, MapsInWindows) {
  int kept = 0, streamed = 0, copying = 0;
  const auto check = [&](const poly::Group &fed) {
    auto all = wgmma_of(fed);
    std::erase_if(all, [](const schedule::Schedule &each) { return halo_stages(each) == 0; });
    const auto taken = testing::steps(all.size(), testing::by_night<std::size_t>(8, 40),
                                      static_cast<std::size_t>(kept + 5 * streamed));
    for (const std::size_t i : taken) {
      check_schedules(fed, sm90(), {all[i]}, 1);
      (has_resident(all[i]) ? kept : streamed) += 1;
      all[i].roles.transform.groups = 0;
      if (illegal(fed, all[i], sm90()))
        continue;
      check_schedules(fed, sm90(), {all[i]}, 1);
      ++copying;
    }
  };
  for (const Conv &problem :
       {Conv{.n = 2, .h = 9, .w = 10, .c = 64, .k = 64},
        Conv{.h = 7, .w = 13, .c = 72, .k = 128, .r = 5, .s = 2},
        Conv{.n = 2, .h = 12, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2},
        Conv{.h = 11, .w = 9, .c = 32, .k = 32, .r = 5, .s = 5, .pad = 2},
        Conv{.h = 10, .w = 10, .c = 64, .k = 64, .pad = 0, .in = "bf16"},
        Conv{.h = 8, .w = 9, .c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"}})
    for (const poly::Group &fed : {normalised(group_of(problem), 0), masked(group_of(problem), 0)})
      check(fed);
  check(masked(gradients({.n = 2, .h = 8, .w = 9, .c = 64, .k = 64}, By::Input).front(), 0));
  for (const poly::Group &group : {pixels_in_rows(), padded_on_one_side()})
    check(normalised(group, 0));
  EXPECT_GE(kept, testing::by_night(10, 4));
  EXPECT_GE(streamed, testing::by_night(10, 4));
  EXPECT_GE(copying, testing::by_night(5, 2));
}

// Warps deal a kept filter before they map windows, or beside those that do.
TEST(CoreFeeds, DealtFilters) {
  const poly::Group fed =
      masked(gradients({.n = 2, .h = 8, .w = 9, .c = 64, .k = 64}, By::Input).front(), 0);
  auto all = wgmma_of(fed);
  std::erase_if(all, [&](const schedule::Schedule &each) {
    return !schedule::deals_kept_filter(schedule::gemm_of(fed.anchor, each));
  });
  EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                          [](const auto &each) { return each.roles.transform.groups == 0; }));
  EXPECT_GT(check_schedules(fed, sm90(), all, 1), 1);
}

TEST(CoreFeeds, MasksBeforeGradientsOfInputs) {
  for (const GradientConv &conv :
       {GradientConv{.n = 2, .c = 64, .k = 64}, {.n = 2, .c = 64, .k = 128, .stride = 2}})
    for (const poly::Group &group : gradients(conv, By::Input)) {
      if (group.anchor.inputs.size() != 2)
        continue;
      const poly::Group fed = masked(group, 0);
      const auto all = wgmma_of(fed);
      EXPECT_FALSE(all.empty()) << to_text(fed);
      check_schedules(fed, sm90(), all, 5);
    }
}

// Both operands are turned, and mapped: panels of channels, points of the depth in their rows.
TEST(CoreFeeds, ActivationsBeforeGradientsOfFilters) {
  int checked = 0;
  for (const GradientConv &conv :
       {GradientConv{.n = 2, .c = 64, .k = 64},
        {.n = 3, .c = 64, .k = 128, .stride = 2},
        {.n = 2, .h = 7, .w = 6, .c = 72, .k = 40, .r = 5, .s = 2, .pad = 2},
        {.n = 3, .h = 5, .w = 5, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0}})
    for (const poly::Group &group : gradients(conv, By::Filter)) {
      for (const poly::Group &fed : {normalised(masked(group, 0), 1), normalised(group, 1)}) {
        const auto all = wgmma_of(fed);
        EXPECT_FALSE(all.empty()) << to_text(fed);
        checked += check_schedules(fed, sm90(), all, 13);
      }
    }
  EXPECT_GE(checked, 8);
}

TEST(CoreFeeds, PartsOfGradientsOfFilters) {
  const poly::Group group = gradients({.n = 4, .c = 64, .k = 64}, By::Filter).front();
  for (const Target &target : {sm80(), sm90()}) {
    const poly::Group part = search::split_group(group, target, {.split = "n:2"}).front();
    const poly::Group fed = normalised(masked(part, 0), 1);
    const auto all =
        has(target, Feature::WarpgroupMatrix) ? wgmma_of(fed) : schedules_of(fed, target);
    EXPECT_FALSE(all.empty()) << to_text(fed);
    check_schedules(fed, target, all, 12);
  }
}

// Channels in blocks of 32 bytes: mapped on mma alone.
TEST(CoreFeeds, ChannelsInBlocks) {
  const poly::Group fed = masked(nchw32(2, 2, 6, 2, 3), 0);
  const auto all = schedules_of(fed, sm80());
  EXPECT_FALSE(all.empty());
  check_schedules(fed, sm80(), all, 4);
  EXPECT_TRUE(wgmma_of(fed).empty());
}

// Any size, stride, dilation and padding, in every direction, each under a schedule of its own.
void check_random(const Target &target, int channel_unit, int count) {
  Random random(17);
  int checked = 0;
  for (int tried = 0; tried < 40 * count && checked < count; ++tried) {
    const auto channels = [&] { return channel_unit * static_cast<int>(random.between(1, 10)); };
    const GradientConv conv = {.n = static_cast<int>(random.between(1, 3)),
                               .h = static_cast<int>(random.between(1, 9)),
                               .w = static_cast<int>(random.between(1, 9)),
                               .c = channels(),
                               .k = channels(),
                               .r = random.of({1, 3, 2, 5}),
                               .s = random.of({1, 3, 2, 5}),
                               .stride = random.of({1, 1, 2, 3}),
                               .dilation = random.of({1, 1, 2}),
                               .pad = static_cast<int>(random.between(0, 2)),
                               .type = random.of({"f16", "bf16"})};
    if (conv.h + conv.pad < 1 + conv.dilation * (conv.r - 1) || conv.pad > conv.r / 2 ||
        conv.w + conv.pad < 1 + conv.dilation * (conv.s - 1) || conv.pad > conv.s / 2)
      continue;
    const int direction = static_cast<int>(random.between(0, 2));
    const poly::Group group = direction == 0
                                  ? groups_of(forward_program(conv)).front()
                                  : gradients(conv, direction == 1 ? By::Input : By::Filter).back();
    if (group.anchor.inputs.size() != 2)
      continue;
    const poly::Group fed = random.chance(50) ? normalised(group, 0) : masked(group, 0);
    std::vector<schedule::Schedule> all = schedules_of(fed, target);
    std::erase_if(all, [&](const schedule::Schedule &each) {
      return is_wgmma(*each.core.op) != has(target, Feature::WarpgroupMatrix);
    });
    if (!all.empty())
      checked += check_schedules(fed, target, {random.of(all)}, 1);
  }
  EXPECT_EQ(checked, count);
}

TEST(CoreFeeds, RandomProblemsOnMma) { check_random(sm80(), 2, testing::by_night(60, 12)); }
TEST(CoreFeeds, RandomProblemsOnWgmma) { check_random(sm90(), 8, testing::by_night(24, 6)); }

// 132 multiprocessors of Hopper.
Target whole_sm90() {
  Target target = sm90();
  target.compute_units = 132;
  target.gbytes_per_s = 4300;
  target.gflops_per_unit = 507;
  target.l2_bytes = 400 << 10;
  target.launch_us = 5.5;
  return target;
}

std::vector<poly::PlacedGroup> groups_at(poly::FuseLevel level, const std::string &text) {
  const program::Program program = program::parse_program(text);
  return search::make_groups(program::assign_storage(program), {.level = level}, whole_sm90());
}

std::string normalised_before(int taps, int channels, int outputs = 128, int size = 28) {
  return fmt::format(R"(program "bn" {{
  input %0 "x" : f16[32, {4}, {4}, {0}]
  input %1 "scale" : f32[1, 1, 1, {0}]
  input %2 "shift" : f32[1, 1, 1, {0}]
  input %3 "weights" : f16[{3}, {1}, {1}, {0}]
  %4 "a" : f16[32, {4}, {4}, {0}] = map[%0, %1, %2](f16(max(f32($0) * $1 + $2, 0))) from "test"
  %5 "y" : f16[32, {4}, {4}, {3}] = sum[n, m, y, x, c, r, s](%4[n, y + r - {2}, x + s - {2}, c] * %3[m, r, s, c]) -> [n, y, x, m] from "test"
  output %5
}}
)",
                     channels, taps, taps / 2, outputs, size);
}

// BatchNorm and ReLU join a convolution, on warps that map: before nine taps in windows of data,
// but where those fit the image badly and the filter is not kept.
TEST(CoreFeeds, JoinedWhereTheyPay) {
  for (const int channels : {128, 256, 512, 1024}) {
    const auto groups = groups_at(poly::FuseLevel::All, normalised_before(1, channels));
    ASSERT_EQ(groups.size(), 1U) << channels;
    const auto schedule = search::pick_fused(groups[0].group, whole_sm90());
    ASSERT_TRUE(schedule);
    EXPECT_GT(schedule->roles.transform.groups, 0) << to_text(groups[0].group, *schedule);
    EXPECT_EQ(groups_at(poly::FuseLevel::Pointwise, normalised_before(1, channels)).size(), 2U);
  }
  EXPECT_EQ(groups_at(poly::FuseLevel::All, normalised_before(3, 128)).size(), 2U);
  for (const auto &[channels, outputs] : {std::pair{64, 64}, {128, 32}, {128, 128}}) {
    const auto groups =
        groups_at(poly::FuseLevel::All, normalised_before(3, channels, outputs, 56));
    ASSERT_EQ(groups.size(), 1U) << channels << " to " << outputs;
    const auto schedule = search::pick_fused(groups[0].group, whole_sm90());
    ASSERT_TRUE(schedule);
    EXPECT_GT(halo_stages(*schedule), 0) << to_text(groups[0].group, *schedule);
    EXPECT_EQ(has_resident(*schedule), outputs < 128);
  }
}

// Tiles of 224 pixels, swapped, whose map leaves no registers for more warps.
TEST(CoreFeeds, WarpsThatCopyMap) {
  const auto groups = groups_at(poly::FuseLevel::All, normalised_before(3, 64, 64, 112));
  ASSERT_EQ(groups.size(), 1U);
  const auto schedule = search::pick_fused(groups[0].group, whole_sm90());
  ASSERT_TRUE(schedule);
  EXPECT_EQ(schedule->core.op->n, 224);
  EXPECT_EQ(schedule->roles.transform.groups, 0);
  schedule::Schedule other = *schedule;
  other.roles.transform.groups = 1;
  search::assign_roles(groups[0].group.anchor, other, whole_sm90());
  EXPECT_EQ(illegal(groups[0].group, other, whole_sm90()),
            "launch.registers is 128; it needs 138 or more");
  other = *schedule;
  other.pipes[0] = {
      .footprint = schedule::Footprint::Halo, .engine = schedule::Engine::Tma, .stages = 3};
  EXPECT_EQ(illegal(groups[0].group, other, whole_sm90()),
            "transform.groups is 0; it needs 1 to 2");
}

// Classes of a strided gradient stand in one launch: each evaluates the mask, and none stores it,
// for which the others would wait.
TEST(CoreFeeds, ClassesEvaluateMasksThemselves) {
  for (const int batch : {1, 32}) {
    const auto groups = groups_at(poly::FuseLevel::All, fmt::format(R"(program "mask" {{
  input %0 "dy" : f32[{0}, 28, 28, 128]
  input %1 "y" : f32[{0}, 28, 28, 128]
  input %2 "weights" : f32[128, 3, 3, 64]
  %3 "d" : f32[{0}, 28, 28, 128] = map[%0, %1](select($1 > 0, $0, 0)) from "test"
  %4 "dx" : f32[{0}, 56, 56, 64] = sum[n, m, y, x, c, r, s](%3[n, y, x, m] * %2[m, r, s, c]) -> [n, 2*y + r - 1, 2*x + s - 1, c] from "test"
  output %4
}}
)",
                                                                    batch));
    ASSERT_EQ(groups.size(), 4U) << batch;
    for (const poly::PlacedGroup &placed : groups) {
      ASSERT_EQ(placed.group.producers.size(), 1U);
      EXPECT_FALSE(placed.group.producers[0].stored);
    }
  }
}

// A filter gradient of few filters and many pixels is summed in parts, which evaluate the mask of
// the one operand and the activation of the other.
TEST(CoreFeeds, PartsEvaluateBothOperands) {
  const program::Program program = program::parse_program(R"(program "by_filter" {
  input %0 "dy" : f32[32, 56, 56, 64]
  input %1 "y" : f32[32, 56, 56, 64]
  input %2 "x" : f32[32, 56, 56, 64]
  %3 "d" : f32[32, 56, 56, 64] = map[%0, %1](select($1 > 0, $0, 0)) from "test"
  %4 "a" : f32[32, 56, 56, 64] = map[%2](max($0, 0)) from "test"
  %5 "dw" : f32[64, 1, 1, 64] = sum[n, m, y, x, c, r, s](%3[n, y, x, m] * %4[n, y + r, x + s, c]) -> [m, r, s, c] from "test"
  output %5
}
)");
  const Target target = whole_sm90();
  for (const poly::FuseLevel level : {poly::FuseLevel::Pointwise, poly::FuseLevel::All}) {
    program::StoredProgram stored = program::assign_storage(program);
    const std::size_t buffers = stored.buffers.size();
    auto groups = search::make_groups(stored, {.level = level}, target);
    groups = search::split_groups(std::move(groups), stored, target, {});
    groups = search::feed_parts(std::move(groups), stored, buffers, {.level = level}, target);
    const bool fuses = level == poly::FuseLevel::All;
    ASSERT_EQ(groups.size(), fuses ? 2U : 4U);
    EXPECT_EQ(groups[0].group.producers.size(), fuses ? 2U : 0U);
  }
}

// What cannot be is refused, and says why.
TEST(CoreFeeds, Refused) {
  const poly::Group plain = group_of({.c = 64, .k = 64});
  schedule::Schedule schedule = search::core_schedules(plain.anchor, sm80(), false).front();
  schedule.producers.resize(1);
  poly::Group stored = normalised(plain, 0);
  EXPECT_FALSE(illegal(stored, schedule, sm80()));
  stored.producers[0].stored = true;
  EXPECT_EQ(illegal(stored, schedule, sm80()), "member 1 is stored beside a ring");
  const poly::Group constant = fed(plain, 0, "$0", {Reads::Channels});
  EXPECT_EQ(illegal(constant, schedule, sm80()),
            "the pipe of input 0 brings nothing that member 1 could be evaluated on");
  schedule.roles.transform.groups = 1;
  EXPECT_EQ(illegal(normalised(plain, 0), schedule, sm80()),
            "warps of mma have no roles, clusters or tensor copies, and take one tile as it lies");
  schedule::Schedule own = wgmma_of(normalised(plain, 0)).front();
  const auto refusal = [&](const poly::Group &group, const schedule::Schedule &changed) {
    return illegal(group, changed, sm90()).value_or("");
  };
  const poly::Group fed = normalised(plain, 0);
  schedule::Schedule changed = own;
  changed.roles.transform.groups = 0;
  EXPECT_EQ(refusal(fed, changed), "transform.groups is 0; it needs 1 to 2");
  // A tap that walks a dimension of its own.
  const poly::Group walked = normalised({nest::parse_nest(R"(nest conv {
  index y 8, x 8, m 64 | q 2, s 3, c 64
  slot 0 f16 8192, 1 f16 24576, 2 f16 4096
  acc f32 = sum mul
  in 0 + 0 [q:2*4096, y:8*512, x + s - 1:8?*64, c:64*1]
  in 1 + 0 const [m:64*384, q:2*192, s:3*64, c:64*1]
  out 2 + 0 [y:8*512, x:8*64, m:64*1]
  post f16(acc)
})")},
                                        0);
  schedule::Schedule windowed =
      search::named_core_schedule("wgmma_stream", walked.anchor, sm90()).schedule.value();
  windowed.roles.transform.groups = 1;
  windowed.producers.resize(1);
  search::assign_roles(walked.anchor, windowed, sm90());
  EXPECT_EQ(illegal(walked, windowed, sm90()), "taps move a window where no pixel does");
  own.producers.clear();
  EXPECT_EQ(refusal(plain, own), "transform.groups is 1; it needs 0 to 0");
}

} // namespace
} // namespace tilefuse::model
