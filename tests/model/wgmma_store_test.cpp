// SPDX-License-Identifier: Apache-2.0
// Results of wgmma that leave by tensor stores, and of swapped operands: simulated on convolutions
// of odd sizes, with tails on both sides, post-ops that read more, straight and turned filters.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/conv_gradient.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

bool is_stored(const Schedule &schedule) { return schedule.store == schedule::Store::Tma; }
bool is_swapped(const Schedule &schedule) { return schedule.core.swap_ab; }

// With so many multiprocessors that operands are swapped, and small tiles are taken by turns.
Target target() {
  Target target = sm90();
  target.compute_units = 8;
  return target;
}

std::vector<Schedule> schedules_of(const nest::Nest &nest, bool (*is_kind)(const Schedule &)) {
  std::vector<Schedule> all = search::every_wgmma_schedule(nest, target(), false);
  if (all.empty())
    all = search::every_wgmma_schedule(nest, target(), true);
  std::erase_if(all, [&](const Schedule &each) { return !is_kind(each); });
  return all;
}

const std::vector<Conv> kProblems = {
    {.n = 2, .h = 8, .w = 8, .c = 64, .k = 128},
    {.n = 3, .h = 5, .w = 7, .c = 32, .k = 64, .r = 1, .s = 1, .pad = 0},
    {.n = 2, .h = 9, .w = 11, .c = 48, .k = 40, .dilation = 2, .pad = 2},
    {.h = 13, .w = 3, .c = 64, .k = 72, .stride = 2},
    {.h = 7, .w = 7, .c = 128, .k = 192, .r = 1, .s = 1, .pad = 0},
    {.c = 64, .k = 48, .in = "bf16"},
    {.n = 2, .c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
    {.n = 2, .c = 96, .k = 48, .in = "u8", .out = "f32", .acc = "i32", .post = "f32(acc) * $0"},
    {.n = 2, .c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"},
};

// Bias and residual, rounded on the way.
poly::Group with_residual(int images) {
  return {nest::parse_nest(fmt::format(R"(nest conv {{
  index n {0}, y 7, x 5, m 96 | c 64, r 3, s 3
  slot 0 f16 {1}, 1 f16 55296, 2 f16 {2}, 3 f32 96, 4 f16 {2}
  acc f32 = sum mul
  in 0 + 0 [n:{0}*2240, y + r - 1:7?*320, x + s - 1:5?*64, c:64*1]
  in 1 + 0 const [m:96*576, c:64*9, r:3*3, s:3*1]
  out 2 + 0 [n:{0}*3360, y:7*480, x:5*96, m:96*1]
  extra 3 + 0 [m:96*1]
  extra 4 + 0 [n:{0}*3360, y:7*480, x:5*96, m:96*1]
  post f16(max(acc + $0 + f32($1), 0))
}})",
                                       images, images * 2240, images * 3360))};
}

std::string refusal_of(bool (*is_kind)(const Schedule &), const poly::Group &group) {
  const char *name = is_kind == is_stored ? "wgmma_store" : "wgmma_swapped";
  return search::named_core_schedule(name, group.anchor, target()).refusal;
}

void check_kind(bool (*is_kind)(const Schedule &), int at_least) {
  int checked = 0;
  for (const Conv &problem : kProblems) {
    const poly::Group group = group_of(problem);
    const std::vector<Schedule> all = schedules_of(group.anchor, is_kind);
    EXPECT_FALSE(all.empty()) << to_text(group.anchor) << refusal_of(is_kind, group);
    checked += check_schedules(group, target(), all, 3);
  }
  for (const int images : {1, 4}) {
    const poly::Group group = with_residual(images);
    checked += check_schedules(group, target(), schedules_of(group.anchor, is_kind), 3);
  }
  EXPECT_GE(checked, at_least);
}

TEST(WgmmaStore, BoxesAreExact) { check_kind(is_stored, 40); }

TEST(WgmmaStore, SwappedOperandsAreExact) { check_kind(is_swapped, 40); }

// Of a turned filter.
TEST(WgmmaStore, InputGradientsAreExact) {
  for (const auto is_kind : {is_stored, is_swapped})
    for (const GradientConv &problem :
         {GradientConv{.n = 2, .h = 8, .w = 7, .c = 64, .k = 128},
          GradientConv{.n = 2, .h = 6, .w = 6, .c = 72, .k = 64, .r = 1, .s = 1, .pad = 0}}) {
      const poly::Group group = gradients(problem, By::Input).front();
      EXPECT_GT(check_schedules(group, target(), schedules_of(group.anchor, is_kind), 3), 0);
    }
}

TEST(WgmmaStore, BoxesMeetInNoBank) {
  for (const Conv &problem :
       {Conv{.n = 2, .c = 64, .k = 128},
        Conv{.n = 2, .c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc"}}) {
    const poly::Group group = group_of(problem);
    for (const Schedule &schedule : testing::sampled(schedules_of(group.anchor, is_stored)))
      EXPECT_EQ(bank_conflicts(counts_of(group, schedule, target())), "")
          << to_text(group.anchor, schedule);
  }
}

TEST(WgmmaStore, TextsReadBack) {
  const poly::Group group = group_of({.c = 64, .k = 64});
  for (const auto is_kind : {is_stored, is_swapped})
    for (const Schedule &schedule : schedules_of(group.anchor, is_kind)) {
      const std::string text = to_text(lower::lower(group, schedule, target()));
      EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
      const std::string written = to_text(group.anchor, schedule);
      EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
    }
}

TEST(WgmmaStore, RefusalsSayWhy) {
  const poly::Group channels_outermost{nest::parse_nest(R"(nest conv {
  index n 2, m 64, y 64 | c 32
  slot 0 f16 4096, 1 f16 2048, 2 f16 8192
  acc f32 = sum mul
  in 0 + 0 [n:2*2048, y:64*32, c:32*1]
  in 1 + 0 const [m:64*32, c:32*1]
  out 2 + 0 [n:2*4096, m:64*64, y:64*1]
  post f16(acc)
})")};
  EXPECT_EQ(
      refusal_of(is_stored, channels_outermost),
      "wgmma_store does not fit: results that leave in boxes need to lie as one matrix or image");
  const GradientConv strided = {.n = 3, .h = 5, .w = 12, .c = 108, .k = 128, .stride = 2};
  EXPECT_EQ(refusal_of(is_stored, gradients(strided, By::Input).front()),
            "wgmma_store does not fit: 108 channels leave in no boxes by runs of 2 of 64 columns; "
            "boxes hold multiples of 64, in rows of 32 to 128 bytes");
  EXPECT_EQ(refusal_of(is_swapped, nchw32(2, 4, 7, 2, 3)),
            "wgmma_swapped does not fit: m64n64k32.s8.s32 swap_ab reads no step tma of blocked "
            "data in boxes, beside step tma of the filter");
}

} // namespace
} // namespace tilefuse::model
