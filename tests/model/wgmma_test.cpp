// SPDX-License-Identifier: Apache-2.0
// Schedules with wgmma: every tile of the menu computes what the nest says, simulated with tensor
// copies and mbarriers, for convolutions of any stride, dilation, padding, type and odd size.
#include <gtest/gtest.h>

#include <set>

#include <fmt/format.h>

#include "kernel/text/text.h"
#include "lower/pipeline.h"
#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/text.h"
#include "schedule/wgmma/pixel_box.h"
#include "search/forms/core_forms.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::model {
namespace {

std::vector<schedule::Schedule> schedules_of(const nest::Nest &nest, const Target &target) {
  std::vector<schedule::Schedule> all = search::wgmma_schedules(nest, target, false);
  return all.empty() ? search::wgmma_schedules(nest, target, true) : all;
}

std::vector<Conv> problems() {
  std::vector<Conv> list(13);
  list[0] = {.h = 12, .w = 12, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0};
  list[1] = {.n = 2, .c = 64, .k = 64};
  list[2] = {.n = 3, .c = 32, .k = 32, .stride = 2};
  list[3] = {.n = 2, .h = 10, .w = 8, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 9, .w = 11, .c = 80, .k = 16, .r = 5, .s = 2, .stride = 3};
  list[5] = {.n = 2, .h = 7, .w = 7, .c = 128, .k = 128, .r = 1, .s = 1, .stride = 2, .pad = 0};
  list[6] = {.c = 64, .k = 48, .in = "bf16"};
  list[7] = {.c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"};
  list[8] = {.c = 96, .k = 32, .in = "u8", .out = "f32", .acc = "i32", .post = "f32(acc) * $0"};
  list[9] = {.c = 32, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"};
  list[10] = {.h = 1, .w = 40, .c = 64, .k = 72, .r = 1, .s = 3, .pad = 0};
  list[11] = {.n = 2, .h = 6, .w = 6, .c = 64, .k = 1000, .r = 1, .s = 1, .pad = 0};
  list[12] = {.n = 2, .h = 5, .w = 5, .c = 72, .k = 64}; // a depth of 72 in steps of 64
  return list;
}

TEST(Wgmma, EveryTileComputesItsNest) {
  int checked = 0;
  for (const Conv &problem : problems()) {
    const poly::Group group = group_of(problem);
    checked += check_schedules(group, sm90(), schedules_of(group.anchor, sm90()), 3,
                               static_cast<std::size_t>(checked));
  }
  EXPECT_GE(checked, 40);
}

// Tiles of rows can change fastest, and the instructions of a block of rows can follow each other.
TEST(Wgmma, OtherOrdersComputeTheSame) {
  const poly::Group group = group_of(problems()[11]);
  std::vector<schedule::Schedule> by_rows = schedules_of(group.anchor, sm90());
  std::vector<schedule::Schedule> inner;
  for (schedule::Schedule &schedule : by_rows) {
    schedule.tiles.raster = schedule::Raster::Rows;
    schedule::Schedule one = schedule;
    one.core.k_inner = true;
    if (!schedule::illegal(group, one, sm90()))
      inner.push_back(std::move(one));
  }
  EXPECT_GE(check_schedules(group, sm90(), by_rows, 30), 1);
  EXPECT_GE(check_schedules(group, sm90(), inner, 30), 1);
}

// The filter, where it is a constant: a kept one whole, the first tile's where blocks take few
// tiles; nothing else.
TEST(Wgmma, FixedFiltersAreCopiedBeforeEarlierKernelsEnd) {
  struct Case {
    int batch, units;
    bool is_fixed, is_ahead;
  };
  for (const Case &one : {Case{2, 132, true, true}, {2, 132, false, false}, {40, 1, true, false}}) {
    poly::Group group = group_of({.n = one.batch, .c = 64, .k = 64});
    group.anchor.inputs[1].constant = one.is_fixed;
    Target target = sm90();
    target.compute_units = one.units;
    for (const schedule::Schedule &schedule : schedules_of(group.anchor, target)) {
      const std::string text = kernel::to_text(lower::lower(group, schedule, target));
      const std::size_t awaits = text.find("await_earlier");
      ASSERT_NE(awaits, std::string::npos);
      EXPECT_EQ(text.find("tensor_copy filter") < awaits,
                one.is_ahead || (one.is_fixed && has_resident(schedule)))
          << text;
      EXPECT_GT(text.find("tensor_copy data"), awaits) << text;
    }
  }
}

// Every `each`-th form of it computes the group.
void check_forms(const poly::Group &group, const std::vector<schedule::Schedule> &all,
                 std::size_t each = 1) {
  check_schedules(group, sm90(), all, each);
}

std::vector<schedule::Schedule> boxed(const nest::Nest &nest) {
  std::vector<schedule::Schedule> all = schedules_of(nest, sm90());
  std::erase_if(all, [&](const schedule::Schedule &each) {
    return !schedule::has_box(schedule::gemm_of(nest, each));
  });
  return all;
}

// 16 bytes of a work-item's neighbouring channels at once.
TEST(Wgmma, BytesAreStoredBySixteen) {
  const Conv problem{.n = 2,
                     .h = 5,
                     .w = 5,
                     .c = 32,
                     .k = 128,
                     .in = "i8",
                     .out = "i8",
                     .acc = "i32",
                     .post = "i8(max(min(round(f32(acc) * f32($0)), 127), 0))"};
  const poly::Group group = group_of(problem);
  const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
  const auto channel =
      static_cast<std::size_t>(schedule::core_roles(group.anchor, all.front()).channel);
  EXPECT_EQ(all.front().splits[channel].vec, 16);
  check_forms(group, all, 5);
}

// Data without a sign and filters with one; where the operands are swapped, the filter is a.
TEST(Wgmma, BytesOfWhichOneOperandHasASign) {
  const poly::Group group = group_of({.n = 2,
                                      .h = 5,
                                      .w = 5,
                                      .c = 64,
                                      .k = 128,
                                      .in = "u8",
                                      .out = "u8",
                                      .acc = "i32",
                                      .post = "u8(max(min(round(f32(acc) * f32($0)), 255), 0))",
                                      .filter = "i8"});
  int swapped = 0;
  const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
  for (const schedule::Schedule &each : all) {
    EXPECT_EQ(each.core.op->a.type, each.core.swap_ab ? DType::I8 : DType::U8);
    EXPECT_EQ(each.core.op->b.type, each.core.swap_ab ? DType::U8 : DType::I8);
    swapped += each.core.swap_ab ? 1 : 0;
  }
  EXPECT_GT(swapped, 0);
  check_forms(group, all, 5);
}

// The data goes on where its blocks end, and so does the filter.
TEST(Wgmma, StepsOfBlocksEndWithTheDepth) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, x 2, m 16 | r 6, s 3, c 32
  slot 0 i8 2688, 1 i8 10752, 2 f32 16, 3 i8 64
  acc i32 = sum mul
  in 0 + 0 [n:2*1344, r:7*192, 3*x + s - 1:6?*32, c:32*1]
  in 1 + 0 const [m:16*672, r + 1:7*96, s:3*32, c:32*1]
  out 3 + 0 [n:2*32, 0:1*32, x:2*16, m:16*1]
  extra 2 + 0 const [m:16*1]
  post i8(max(min(round(f32(acc) * $0), 127), -128))
})")};
  const std::vector<schedule::Schedule> all = boxed(group.anchor);
  EXPECT_FALSE(all.empty());
  check_forms(group, all);
}

// Tiles whose pixels are a box, of volumes that boxes do not divide as well.
TEST(Wgmma, PixelsInBoxes) {
  for (const auto &[size, taps, type] :
       {std::tuple{4, 3, "f16"}, {5, 1, "f16"}, {5, 3, "f32"}, {3, 2, "i8"}}) {
    const std::string acc = type == std::string("i8") ? "i32" : "f32";
    const int out = taps == 2 ? size - 1 : size, channels = 32;
    const int row = size * channels, plane = size * row, image = size * plane;
    const int row_out = out * channels, plane_out = out * row_out, image_out = out * plane_out;
    const poly::Group group{nest::parse_nest(fmt::format(
        "nest conv {{\n  index n 3, z {0}, y {0}, x {0}, m 32 | q {1}, r {1}, s {1}, c 32\n"
        "  slot 0 {2} {3}, 1 {2} {4}, 2 {5} {6}\n  acc {5} = sum mul\n"
        "  in 0 + 0 [n:3*{7}, z + q - {8}:{9}{10}*{11}, y + r - {8}:{9}{10}*{12}, "
        "x + s - {8}:{9}{10}*32, c:32*1]\n"
        "  in 1 + 0 const [m:32*{13}, q:{1}*{14}, r:{1}*{15}, s:{1}*32, c:32*1]\n"
        "  out 2 + 0 [n:3*{16}, z:{0}*{17}, y:{0}*{18}, x:{0}*32, m:32*1]\n  post acc\n}}\n",
        out, taps, type, 3 * image, 32 * taps * taps * taps * 32, acc, 3 * image_out, image,
        taps / 2 * (taps % 2), size, taps == 3 ? "?" : "", plane, row, taps * taps * taps * 32,
        taps * taps * 32, taps * 32, image_out, plane_out, row_out))};
    const std::vector<schedule::Schedule> all = boxed(group.anchor);
    EXPECT_EQ(all.size() > 3, taps > 1);
    if (taps > 1)
      check_forms(group, all, 4);
  }
}

// A first layer's rows of taps: runs of the depth that start every 8 elements, and overlap.
TEST(Wgmma, RunsOfTapsOverlap) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, y 4, x 9, m 64 | r 7, run 32
  slot 0 f16 2704, 1 f16 14336, 2 f16 4608
  acc f32 = sum mul
  in 0 + 0 [n:2*1352, 2*y + r:13*104, 8*x + run + 8:104*1]
  in 1 + 0 const [m:64*224, r:7*32, run:32*1]
  out 2 + 0 [n:2*2304, y:4*576, x:9*64, m:64*1]
  post f16(acc)
})")};
  const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
  EXPECT_GE(all.size(), 4U);
  check_forms(group, all);
}

TEST(Wgmma, ChannelsInBlocksOf32) {
  for (const poly::Group &group :
       {nchw32(2, 4, 7, 2, 3), nchw32(5, 3, 8, 4, 1), nchw32(3, 2, 5, 1, 5)}) {
    const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
    EXPECT_GE(all.size(), 4U);
    check_forms(group, all, 3);
  }
}

// Strides, of sizes that they do not divide, with taps and without; steps of 3 fill no rows.
TEST(Wgmma, StridesOfChannelsInBlocksOf32) {
  for (const auto &[group, is_even] : {std::pair{nchw32(2, 4, 7, 2, 3, 2), true},
                                       {nchw32(3, 4, 8, 2, 1, 2), true},
                                       {nchw32(3, 2, 9, 2, 1, 2), true},
                                       {nchw32(2, 4, 10, 1, 3, 3), false}}) {
    const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
    EXPECT_GE(all.size(), 4U) << search::named_core_schedule("wgmma", group.anchor, sm90()).refusal;
    const auto has_gaps = [&](const schedule::Schedule &each) {
      return gemm_of(group.anchor, each).tile.spread > 1;
    };
    const auto gaps = std::find_if(all.begin(), all.end(), has_gaps);
    EXPECT_EQ(gaps != all.end(), is_even);
    check_forms(group, all, 5);
    if (gaps != all.end())
      check_forms(group, {*gaps});
  }
}

// Neighbours fill rows of the ring, or pairs of them where those leave fewer pixels that are none.
TEST(Wgmma, NeighboursInBlocksFillRows) {
  const auto used = [](const poly::Group &group) {
    std::set<std::int64_t> all;
    for (const schedule::Schedule &each : schedules_of(group.anchor, sm90()))
      if (!has_loading_warps(each) && halo_stages(each) == 0)
        all.insert(gemm_of(group.anchor, each).row.used);
    return all;
  };
  EXPECT_EQ(used(nchw32(2, 4, 8, 4, 3)), std::set<std::int64_t>({4}));
  EXPECT_EQ(used(nchw32(2, 4, 14, 4, 3)), std::set<std::int64_t>({2, 4}));
  EXPECT_EQ(used(nchw32(64, 4, 7, 4, 3)), std::set<std::int64_t>({1, 4}));
  EXPECT_EQ(used(nchw32(2, 4, 16, 4, 3, 2)), std::set<std::int64_t>({2}));
  const poly::Group group = nchw32(2, 4, 8, 4, 3);
  const schedule::Schedule fours =
      *search::named_core_schedule("wgmma", group.anchor, sm90()).schedule;
  EXPECT_EQ(bank_conflicts(counts_of(group, fours, sm90())), "");
  const std::string text = to_text(lower::lower(group, fours, sm90()));
  EXPECT_NE(text.find(" rows 32 128"), std::string::npos);
  EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
}

// What post-ops read by rows of pixels is not fetched in the order of such rows.
TEST(Wgmma, BlocksIntoRowsOfChannels) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, y 8, x 8, m 64 | co 2, r 3, s 3, ci 32
  slot 0 i8 8192, 1 i8 36864, 2 f32 8192, 3 f32 8192
  acc i32 = sum mul
  in 0 + 0 [n:2*4096, co:2*2048, y + r - 1:8?*256, x + s - 1:8?*32, ci:32*1]
  in 1 + 0 const [co:2*18432, r:3*6144, s:3*2048, m:64*32, ci:32*1]
  out 2 + 0 [n:2*4096, y:8*512, x:8*64, m:64*1]
  extra 3 + 0 [n:2*4096, y:8*512, x:8*64, m:64*1]
  post f32(acc) + $0
})")};
  const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
  EXPECT_GE(all.size(), 8U);
  check_forms(group, all, 3);
}

// Results in NCHW, in another type, are stored so by the convolution itself.
TEST(Wgmma, StoresChannelsOutermost) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, m 40, y 7, x 5 | c 32, r 3, s 3
  slot 0 f16 2240, 1 f16 11520, 2 f32 2800, 3 f32 2800
  acc f32 = sum mul
  in 0 + 0 [n:2*1120, y + r - 1:7?*160, x + s - 1:5?*32, c:32*1]
  in 1 + 0 const [m:40*288, c:32*9, r:3*3, s:3*1]
  out 2 + 0 [n:2*1400, m:40*35, y:7*5, x:5*1]
  extra 3 + 0 [n:2*1400, m:40*35, y:7*5, x:5*1]
  post max(acc + $0, 0)
})")};
  const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
  EXPECT_GE(all.size(), 8U);
  check_forms(group, all, 3);
}

// Groups are products of their own: 3 of 32 channels each way, taps and none, strides.
TEST(Wgmma, GroupsOfChannels) {
  for (const auto &[size, taps, stride] : {std::tuple{7, 3, 1}, {6, 1, 1}, {9, 3, 2}}) {
    const int out = (size - 1) / stride + 1;
    const poly::Group group{nest::parse_nest(fmt::format(
        "nest conv {{\n  index n 2, y {0}, x {0}, g 3, m 32 | r {1}, s {1}, c 32\n"
        "  slot 0 f16 {2}, 1 f16 {3}, 2 f16 {4}\n  acc f32 = sum mul\n"
        "  in 0 + 0 [n:2*{5}, {9}*y + r - {6}:{7}{10}*{8}, {9}*x + s - {6}:{7}{10}*96, "
        "32*g + c:96*1]\n"
        "  in 1 + 0 const [32*g + m:96*{11}, r:{1}*{12}, s:{1}*32, c:32*1]\n"
        "  out 2 + 0 [n:2*{13}, y:{0}*{14}, x:{0}*96, 32*g + m:96*1]\n  post f16(acc)\n}}\n",
        out, taps, 2 * size * size * 96, 96 * taps * taps * 32, 2 * out * out * 96,
        size * size * 96, taps / 2, size, size * 96, stride, taps > 1 ? "?" : "", taps * taps * 32,
        taps * 32, out * out * 96, out * 96))};
    const std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm90());
    EXPECT_GE(all.size(), 3U) << search::named_core_schedule("wgmma", group.anchor, sm90()).refusal;
    check_forms(group, all);
  }
}

// Under the names that users force, floats of both widths: strides, dilation, primes, one pixel.
TEST(Wgmma, NamedFormsComputeOddShapes) {
  const std::vector<Conv> shapes = {
      {.h = 14, .w = 14, .c = 32, .k = 128, .stride = 2},
      {.n = 3, .h = 11, .w = 13, .c = 64, .k = 24, .r = 5, .s = 2, .stride = 3, .pad = 2},
      {.h = 13, .w = 9, .c = 64, .k = 64, .dilation = 2, .pad = 2},
      {.n = 5, .h = 1, .w = 1, .c = 64, .k = 64, .r = 1, .s = 1, .pad = 0},
      {.n = 2, .h = 7, .w = 5, .c = 128, .k = 72, .r = 1, .s = 1, .stride = 2, .pad = 0}};
  for (const auto &[name, type] : {std::pair{"wgmma", "f16"}, std::pair{"wgmma_tf32", "f32"}})
    for (Conv shape : shapes) {
      shape.in = shape.out = type;
      if (shape.in == std::string("f32"))
        shape.post = "acc + $0";
      KernelCase kernel_case{.group = group_of(shape), .target = sm90(), .seed = 11};
      const search::NamedSchedule named =
          search::named_core_schedule(name, kernel_case.group.anchor, kernel_case.target);
      ASSERT_TRUE(named.schedule) << name << " " << named.refusal;
      kernel_case.schedule = *named.schedule;
      const auto divergence = check_lowered(Reference(kernel_case));
      EXPECT_FALSE(divergence) << divergence->stage << ": " << divergence->what << "\n"
                               << to_text(kernel_case);
    }
}

TEST(Wgmma, KernelTextReadsBack) {
  const poly::Group group = group_of({.c = 64, .k = 64});
  const Target target = sm90();
  for (const schedule::Schedule &schedule : schedules_of(group.anchor, target)) {
    const std::string text = to_text(lower::lower(group, schedule, target));
    EXPECT_EQ(to_text(kernel::parse_kernel(text)), text);
    const std::string written = to_text(group.anchor, schedule);
    EXPECT_EQ(schedule::parse_schedule(group.anchor, written), schedule) << written;
  }
}

TEST(Wgmma, RefusalsSayWhy) {
  const Target target = sm90();
  const auto refusal = [&](const Conv &problem) {
    return search::named_core_schedule("wgmma", group_of(problem).anchor, target).refusal;
  };
  EXPECT_EQ(refusal({.in = "f32", .out = "f32", .post = "acc + $0"}),
            "wgmma does not fit: no instruction multiplies its types");
  EXPECT_EQ(refusal({.c = 60}), "wgmma does not fit: a start or stride of 60 elements of the data; "
                                "tensor copies need positive multiples of 16 bytes");
  EXPECT_EQ(refusal({.c = 64, .k = 63}), "wgmma does not fit: runs of 2 of 63 channels; work-items "
                                         "of m64n64k16.f16.f32 store runs of [none]");
}

} // namespace
} // namespace tilefuse::model
