// SPDX-License-Identifier: Apache-2.0
// Taps of wgmma from windows of data: simulated on convolutions and input gradients of odd sizes,
// with several taps each way, dilated, padded on one side, in groups, with several windows a tile.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/forms/core_forms.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

// So few multiprocessors that blocks take several tiles.
Target target() {
  Target target = sm90();
  target.compute_units = 2;
  return target;
}

// Those that keep the filter, and those with a ring for it.
std::vector<Schedule> windowed(const nest::Nest &nest) {
  std::vector<Schedule> all = search::every_wgmma_schedule(nest, target(), false);
  if (all.empty())
    all = search::every_wgmma_schedule(nest, target(), true);
  std::erase_if(all, [](const Schedule &each) { return halo_stages(each) == 0; });
  return all;
}

int check(const poly::Group &group, std::size_t from = 0) {
  return check_schedules(group, target(), windowed(group.anchor), 5, from);
}

TEST(WgmmaWindow, ConvolutionsAreExact) {
  int checked = 0;
  for (const Conv &problem : {
           Conv{.n = 2, .h = 8, .w = 8, .c = 64, .k = 64},
           Conv{.n = 3, .h = 7, .w = 7, .c = 64, .k = 128},
           Conv{.n = 2, .h = 14, .w = 14, .c = 128, .k = 64},
           Conv{.h = 17, .w = 19, .c = 64, .k = 64, .pad = 0},
           Conv{.h = 11, .w = 13, .c = 48, .k = 40, .dilation = 2, .pad = 2},
           Conv{.h = 9, .w = 23, .c = 72, .k = 64, .r = 5, .s = 5, .pad = 2},
           Conv{.n = 2, .h = 5, .w = 31, .c = 64, .k = 48, .r = 1, .s = 3, .pad = 0},
           Conv{.h = 12, .w = 9, .c = 64, .k = 64, .in = "bf16"},
           Conv{.h = 12,
           .w = 9,
           .c = 64,
           .k = 64,
           .in = "i8",
           .out = "i32",
           .acc = "i32",
           .post = "acc + i32($0)"},
           Conv{.h = 10, .w = 10, .c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"},
       })
    checked += check(group_of(problem), static_cast<std::size_t>(checked));
  EXPECT_GE(checked, 40);
}

// 16 of each: rows of 32 bytes, by an instruction of 16 columns.
TEST(WgmmaWindow, FewChannelsAreExact) {
  for (const Conv &problem : {Conv{.n = 2, .h = 9, .w = 11, .c = 16, .k = 16},
                              Conv{.h = 32, .w = 8, .c = 16, .k = 16, .in = "bf16"}}) {
    const poly::Group group = group_of(problem);
    std::vector<Schedule> narrow = windowed(group.anchor);
    std::erase_if(narrow, [](const Schedule &each) { return each.core.op->n != 16; });
    EXPECT_GE(narrow.size(), 2u);
    EXPECT_GT(check_schedules(group, target(), narrow, 1), 0);
  }
}

TEST(WgmmaWindow, InputGradientsAreExact) {
  for (const GradientConv &problem : {GradientConv{.n = 2, .h = 8, .w = 9, .c = 64, .k = 64},
                                      GradientConv{.n = 2, .h = 13, .w = 6, .c = 72, .k = 128}})
    EXPECT_GT(check(gradients(problem, By::Input).front()), 0);
}

// Channels of a kept filter in pairs: several steps, a panel that is not full, two panels.
TEST(WgmmaWindow, DealtFiltersAreExact) {
  for (const GradientConv &problem :
       {GradientConv{.n = 2, .h = 9, .w = 8, .c = 48, .k = 72},
        GradientConv{.n = 3, .h = 8, .w = 7, .c = 64, .k = 64, .type = "bf16"},
        GradientConv{.h = 8, .w = 9, .c = 128, .k = 64}}) {
    const poly::Group group = gradients(problem, By::Input).front();
    std::vector<Schedule> dealt = windowed(group.anchor);
    std::erase_if(dealt, [&](const Schedule &each) {
      return !schedule::deals_kept_filter(schedule::gemm_of(group.anchor, each));
    });
    EXPECT_GE(dealt.size(), 1u) << to_text(group.anchor);
    EXPECT_GT(check_schedules(group, target(), dealt, 2), 0);
  }
}

TEST(WgmmaWindow, PaddingOfOneSideIsExact) { EXPECT_GT(check(padded_on_one_side()), 0); }

TEST(WgmmaWindow, OneAndThreeDimensionsAreExact) {
  EXPECT_GT(check(pixels_in_rows()), 0);
  EXPECT_GT(check({nest::parse_nest(R"(nest conv {
  index z 3, y 8, x 9, m 64 | c 64, q 2, r 2, s 3
  slot 0 f16 13824, 1 f16 49152, 2 f16 13824
  acc f32 = sum mul
  in 0 + 0 [z + q - 1:3?*4608, y + r:8?*576, x + s - 1:9?*64, c:64*1]
  in 1 + 0 const [m:64*768, c:64*12, q:2*6, r:2*3, s:3*1]
  out 2 + 0 [z:3*4608, y:8*576, x:9*64, m:64*1]
  post f16(acc)
})")}),
            0);
}

// Their filter is several tiles, which is not kept.
TEST(WgmmaWindow, GroupsAreExact) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, y 9, x 8, g 2, m 64 | c 64, r 3, s 3
  slot 0 f16 18432, 1 f16 73728, 2 f16 18432
  acc f32 = sum mul
  in 0 + 0 [n:2*9216, y + r - 1:9?*1024, x + s - 1:8?*128, 64*g + c:128*1]
  in 1 + 0 const [64*g + m:128*576, c:64*9, r:3*3, s:3*1]
  out 2 + 0 [n:2*9216, y:9*1024, x:8*128, 64*g + m:128*1]
  post f16(acc)
})")};
  EXPECT_GT(check(group), 0);
  EXPECT_NE(search::named_core_schedule("wgmma_window", group.anchor, target()).refusal, "");
}

// Strides beside dilation, whose window cannot be sized.
// Of blocks each has rows of its own.
TEST(WgmmaWindow, ChannelsInBlocksOf32) {
  int checked = 0;
  for (const poly::Group &group : {nchw32(2, 2, 8, 2, 3), nchw32(1, 3, 14, 2, 3),
                                   nchw32(2, 2, 9, 4, 5), nchw32(3, 4, 7, 1, 3)})
    checked += check(group, static_cast<std::size_t>(checked));
  EXPECT_GE(checked, 12);
}

TEST(WgmmaWindow, WhatHasNoWindowIsRefused) {
  for (const Conv &problem : {Conv{.n = 2,
                             .h = 14,
                             .w = 12,
                             .c = 32,
                             .k = 104,
                             .r = 3,
                             .s = 7,
                             .stride = 3,
                             .dilation = 2,
                             .pad = 1,
                             .in = "bf16"},
                              Conv{.h = 9,
                              .w = 7,
                              .c = 64,
                              .k = 64,
                              .r = 5,
                              .s = 1,
                              .stride = 2,
                              .dilation = 2,
                              .pad = 0}}) {
    const nest::Nest nest = group_of(problem).anchor;
    EXPECT_FALSE(search::every_wgmma_schedule(nest, target(), false).empty());
    for (const char *name : {"wgmma_window", "wgmma_stream"})
      EXPECT_NE(search::named_core_schedule(name, nest, target()).refusal, "") << name;
  }
}

TEST(WgmmaWindow, TextsReadBack) {
  const poly::Group group = group_of({.c = 128, .k = 64});
  for (const Schedule &schedule : windowed(group.anchor)) {
    const std::string text = to_text(lower::lower(group, schedule, target()));
    EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
  }
}

TEST(WgmmaWindow, RefusalsSayWhy) {
  const poly::Group group = group_of({.n = 2, .c = 64, .k = 64});
  const std::vector<Schedule> all = windowed(group.anchor);
  ASSERT_FALSE(all.empty());
  const auto reason = [&](auto change) {
    Schedule changed = all.front();
    change(changed);
    return illegal(group.anchor, changed, target()).value_or("");
  };
  EXPECT_EQ(reason([](Schedule &s) { s.pipes[0].stages = 9; }),
            "halo.stages is 9; it needs 1 to 8");
  EXPECT_EQ(reason([](Schedule &s) { s.tiles.split_k = 2; }),
            "split_k and halo exclude each other: a halo serves all taps of a k-block, and parts "
            "begin at any tap");
  EXPECT_EQ(reason([](Schedule &s) {
              s.pipes[1].footprint = schedule::Footprint::Resident;
              s.pipes[0] = s.pipes[1];
              s.pipes[0].footprint = schedule::Footprint::Step;
            }),
            "m64n64k16.f16.f32 reads no step tma of straight data in boxes, beside resident tma of "
            "the filter");
  const auto refusal = [](const poly::Group &of) {
    return search::named_core_schedule("wgmma_window", of.anchor, target()).refusal;
  };
  EXPECT_EQ(refusal(group_of({.n = 2, .h = 16, .w = 16, .c = 64, .k = 64, .stride = 2})),
            "wgmma_window does not fit: halo.stride is 2; it needs 1 to 1");
}

} // namespace
} // namespace tilefuse::model
