// SPDX-License-Identifier: Apache-2.0
// Data that a group of warps gathers for wgmma: channels in blocks, with strides, taps and depths
// that end within a step; runs off 16 bytes; the text; and that nothing meets in a bank.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "search/forms/core_forms.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

using schedule::Schedule;

std::vector<Schedule> gathered(const nest::Nest &nest) {
  std::vector<Schedule> all;
  for (const bool tf32 : {false, true})
    for (Schedule &schedule : search::every_wgmma_schedule(nest, sm90(), tf32))
      if (has_loading_warps(schedule))
        all.push_back(std::move(schedule));
  return all;
}

// Every third of them, from number `first` on.
int check(const poly::Group &group, std::ptrdiff_t first = 0) {
  std::vector<Schedule> all = gathered(group.anchor);
  if (all.empty())
    return 0;
  std::rotate(all.begin(), all.begin() + first % std::ssize(all), all.end());
  return check_schedules(group, sm90(), all, 3);
}

TEST(WgmmaGather, ChannelsInBlocksOf32) {
  int checked = 0;
  for (const poly::Group &group :
       {nchw32(2, 4, 7, 2, 3), nchw32(5, 3, 8, 4, 1), nchw32(3, 2, 5, 1, 5),
        nchw32(2, 4, 7, 2, 3, 2), nchw32(3, 5, 8, 2, 1, 2), nchw32(1, 9, 1, 8, 1),
        nchw32(2, 8, 10, 1, 3, 3)})
    checked += check(group, checked);
  EXPECT_GE(checked, 20);
  EXPECT_GE(checked, 20);
}

TEST(WgmmaGather, PixelsOfOneNumber) {
  int checked = 0;
  for (const Conv &problem :
       {Conv{.n = 2, .h = 11, .w = 5, .c = 64, .k = 64},
        Conv{.h = 9, .w = 11, .c = 40, .k = 48, .r = 5, .s = 2, .stride = 3, .dilation = 2},
        Conv{.n = 2, .c = 36, .k = 64}, // 8 bytes
        Conv{.c = 34, .k = 32, .in = "bf16"},
        Conv{.c = 36, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
        Conv{.c = 33, .k = 64, .r = 1, .in = "f32", .out = "f32", .post = "acc + $0"}})
    checked += check(group_of(problem), checked);
  EXPECT_GE(checked, 20);
  EXPECT_GE(checked, 20);
}

TEST(WgmmaGather, GroupsOfChannels) {
  EXPECT_GT(check({nest::parse_nest(R"(nest conv {
  index n 2, y 9, x 8, g 2, m 64 | r 3, s 3, c 36
  slot 0 f16 10368, 1 f16 41472, 2 f16 18432
  acc f32 = sum mul
  in 0 + 0 [n:2*5184, y + r - 1:9?*576, x + s - 1:8?*72, 36*g + c:72*1]
  in 1 + 0 const [64*g + m:128*324, r:3*108, s:3*36, c:36*1]
  out 2 + 0 [n:2*9216, y:9*1024, x:8*128, 64*g + m:128*1]
  post f16(acc)
})")}),
            0);
}

TEST(WgmmaGather, TextsReadBack) {
  const poly::Group group = nchw32(2, 4, 7, 4, 3);
  EXPECT_GE(gathered(group.anchor).size(), 8U);
  for (const Schedule &schedule : gathered(group.anchor)) {
    const std::string text = to_text(lower::lower(group, schedule, sm90()));
    EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
  }
}

TEST(WgmmaGather, NothingMeetsInABank) {
  const poly::Group group = nchw32(2, 4, 7, 4, 3);
  const std::vector<Schedule> all = gathered(group.anchor);
  for (const std::size_t i : testing::sampled(testing::steps(all.size(), 6)))
    EXPECT_EQ(bank_conflicts(counts_of(group, all[i], sm90())), "") << all[i].core.rows;
}

// By times on an H200 tensor copies are faster: 89.3 us and 98.7, 56.4 and 64.4, 26.8
// and 39.2, 47.0 and 76.3; not of single pixels, nor where no tensor map copies rows of 72 bytes.
TEST(WgmmaGather, IsTakenWhereItPays) {
  Target target = sm90();
  target.compute_units = 132;
  target.gbytes_per_s = 4200;
  target.launch_us = 5;
  const auto gathers = [&](const poly::Group &group) {
    return has_loading_warps(search::pick(group.anchor, target));
  };
  EXPECT_FALSE(gathers(nchw32(256, 2, 56, 8, 1)));
  EXPECT_FALSE(gathers(nchw32(256, 2, 56, 2, 3)));
  EXPECT_FALSE(gathers(nchw32(256, 32, 14, 8, 1)));
  EXPECT_FALSE(gathers(nchw32(256, 4, 28, 4, 3)));
  EXPECT_TRUE(gathers(nchw32(256, 16, 1, 16, 1)));
  EXPECT_TRUE(gathers(group_of({.n = 64, .h = 28, .w = 28, .c = 36, .k = 64})));
}

TEST(WgmmaGather, RefusalsSayWhy) {
  const poly::Group group = nchw32(2, 4, 7, 4, 3);
  const auto refusal = [&](const std::function<void(Schedule &)> &change) {
    Schedule schedule = *search::named_core_schedule("wgmma_gather", group.anchor, sm90()).schedule;
    change(schedule);
    return illegal(group.anchor, schedule, sm90()).value_or("");
  };
  EXPECT_EQ(refusal([](Schedule &) {}), "");
  EXPECT_EQ(refusal([](Schedule &each) { set_step_stages(each, 2); }),
            "step.stages is 2; it needs 3 to 16");
  EXPECT_EQ(refusal([](Schedule &each) {
              set_step_stages(each, 3);
              each.roles.load.lead = 2;
            }),
            "load.lead is 2; it needs 0 to 1");
  EXPECT_EQ(refusal([](Schedule &each) { each.tiles.cluster_n = 2; }),
            "cluster and cp_async exclude each other: asynchronous copies reach the local memory "
            "of one block alone");
  EXPECT_EQ(refusal([](Schedule &each) { each.pipes[0].footprint = schedule::Footprint::Halo; }),
            "m64n64k32.s8.s32 reads no halo cp_async of blocked data in rows, beside step tma of "
            "the filter");
  EXPECT_EQ(search::named_core_schedule("wgmma_gather", group_of({.c = 33, .k = 64}).anchor, sm90())
                .refusal,
            "wgmma_gather does not fit: input 0 has no aligned runs of 4 bytes along c");
}

} // namespace
} // namespace tilefuse::model
