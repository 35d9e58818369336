// SPDX-License-Identifier: Apache-2.0
// Schedules with a core instruction: every tile of the menu computes what the nest says, simulated,
// for convolutions of any stride, dilation, padding, type and odd size; nothing meets in a bank,
// nothing is divided in the main loop, copies read whole sectors.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "model/conv_nest.h"
#include "model/core_cases.h"
#include "model/oracle/check.h"
#include "nest/flatten/split.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_pipes.h"
#include "schedule/text.h"

namespace tilefuse::model {
namespace {

std::vector<Conv> problems() {
  std::vector<Conv> list(11);
  list[1].stride = 2;
  list[2] = {.h = 8, .w = 8, .c = 64, .k = 72, .r = 1, .s = 1, .pad = 0};
  list[3] = {.n = 3, .h = 7, .w = 7, .c = 48, .k = 40, .dilation = 2, .pad = 2};
  list[4] = {.h = 5, .w = 11, .c = 20, .k = 17, .r = 5, .s = 2, .stride = 3};
  list[5] = {.c = 6, .k = 9}; // copies of 4 bytes
  list[6].in = "bf16";
  list[7] = {.c = 64, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"};
  list[8] = {.c = 100, .k = 33, .in = "u8", .out = "f32", .acc = "i32", .post = "f32(acc) * $0"};
  list[9] = {.c = 12, .k = 64, .in = "f32", .out = "f32", .post = "acc + $0"};
  list[10] = {.n = 2, .h = 14, .w = 14, .c = 136, .k = 200};
  return list;
}

// A tensor core rounds f32 operands to tf32, which small integers survive.
std::vector<schedule::Schedule> schedules_of(const nest::Nest &nest, const Target &target) {
  std::vector<schedule::Schedule> all = search::core_schedules(nest, target, false);
  return all.empty() ? search::core_schedules(nest, target, true) : all;
}

TEST(Core, EveryTileComputesItsNest) {
  int checked = 0;
  for (const Conv &problem : problems()) {
    const poly::Group group = group_of(problem);
    checked += check_schedules(group, sm80(), schedules_of(group.anchor, sm80()), 12);
  }
  EXPECT_GE(checked, 25);
}

TEST(Core, TilesOfRowsCanChangeFastest) {
  const poly::Group group = group_of(problems()[10]);
  std::vector<schedule::Schedule> all = schedules_of(group.anchor, sm80());
  for (schedule::Schedule &schedule : all)
    schedule.tiles.raster = schedule::Raster::Rows;
  EXPECT_GE(check_schedules(group, sm80(), all, 24), 1);
}

// Runs off 4 bytes, and channels outermost behind a window: elements one by one.
TEST(Core, WhatNoCopyBringsIsGathered) {
  std::vector<poly::Group> groups = {
      group_of({.h = 5, .w = 6, .c = 35, .k = 40}),
      group_of({.h = 7, .w = 3, .c = 99, .k = 51, .r = 1, .s = 1, .pad = 0}),
      group_of({.c = 9, .k = 24, .stride = 2, .in = "bf16"}),
      group_of(
          {.c = 39, .k = 40, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"})};
  for (const auto &[type, acc, channels] :
       {std::tuple{"f16", "f32", 20}, {"f16", "f32", 33}, {"f32", "f32", 12}, {"i8", "i32", 40}})
    groups.push_back({nest::parse_nest(fmt::format(
        R"(nest conv {{
  index n 2, y 5, x 7, m 24 | c {2}, r 3, s 3
  slot 0 {0} {3}, 1 {0} {4}, 2 {1} 1680
  acc {1} = sum mul
  in 0 + 0 [n:2*{5}, c:{2}*35, y + r - 1:5?*7, x + s - 1:7?*1]
  in 1 + 0 const [m:24*{6}, c:{2}*9, r:3*3, s:3*1]
  out 2 + 0 [n:2*840, y:5*168, x:7*24, m:24*1]
  post acc
}})",
        type, acc, channels, 70 * channels, 24 * 9 * channels, 35 * channels, 9 * channels))});
  for (const poly::Group &group : groups) {
    const auto all = schedules_of(group.anchor, sm80());
    for (const schedule::Schedule &each : all)
      EXPECT_TRUE(core_gathers(gemm_of(group.anchor, each), 0));
    check_schedules(group, sm80(), all, 10);
  }
}

// Both inputs of products of odd sizes, however they lie.
TEST(Core, GathersRowsOfOddLength) {
  const auto matrix = [](const char *row, std::int64_t rows, const char *column,
                         std::int64_t columns) {
    return fmt::format("[p:2*{0}, {1}:{2}*{3}, {4}:{3}*1]", rows * columns, row, rows, columns,
                       column);
  };
  const auto product = [&](const char *type, std::int64_t m, std::int64_t n, std::int64_t k,
                           const std::string &left, const std::string &right) {
    return poly::Group{nest::parse_nest(fmt::format(
        R"(nest gemm {{
  index p 2, m {1}, n {2} | k {3}
  slot 0 {0} {4}, 1 {0} {5}, 2 {0} {6}
  acc f32 = sum mul
  in 0 + 0 {7}
  in 1 + 0 {8}
  out 2 + 0 {9}
  post {0}(acc)
}})",
        type, m, n, k, 2 * m * k, 2 * n * k, 2 * m * n, left, right, matrix("m", m, "n", n)))};
  };
  int checked = 0;
  for (const auto &[type, m, n, k] :
       {std::tuple{"f16", 37, 53, 29}, {"f16", 64, 35, 48}, {"bf16", 33, 64, 71}})
    for (const bool is_left_turned : {false, true})
      for (const bool is_right_turned : {false, true}) {
        const poly::Group group =
            product(type, m, n, k, is_left_turned ? matrix("k", k, "m", m) : matrix("m", m, "k", k),
                    is_right_turned ? matrix("k", k, "n", n) : matrix("n", n, "k", k));
        const auto all = schedules_of(group.anchor, sm80());
        ASSERT_FALSE(all.empty());
        const schedule::Gemm gemm = gemm_of(group.anchor, all.front());
        EXPECT_EQ(core_gathers(gemm, 0), (is_left_turned ? m : k) % 2 != 0);
        EXPECT_EQ(core_gathers(gemm, 1), (is_right_turned ? n : k) % 2 != 0);
        checked += check_schedules(group, sm80(), all, 8);
      }
  EXPECT_GE(checked, 36);
}

// Rows of an odd length that begin at whole runs: the last copy of a row brings what is left of it,
// and results leave gaps alone.
TEST(Core, RunsEndWithPaddedRows) {
  const auto product = [](std::int64_t depth, std::int64_t row, std::int64_t columns,
                          std::int64_t out_row) {
    return poly::Group{nest::parse_nest(fmt::format(
        R"(nest gemm {{
  index p 2, m 37, n {2} | k {0}
  slot 0 f16 {3}, 1 f16 {4}, 2 f16 {5}
  acc f32 = sum mul
  in 0 + 0 [p:2*{6}, m:37*{1}, k:{0}*1]
  in 1 + 0 [p:2*{7}, n:{2}*{1}, k:{0}*1]
  out 2 + 0 [p:2*{8}, m:37*{9}, n:{2}*1]
  post f16(acc)
}})",
        depth, row, columns, 2 * 37 * row, 2 * columns * row, 2 * 37 * out_row, 37 * row,
        columns * row, 37 * out_row, out_row))};
  };
  int checked = 0;
  for (const poly::Group &group : {product(37, 40, 24, 24), product(69, 72, 16, 16),
                                   product(64, 64, 37, 40), product(29, 32, 29, 32)}) {
    const auto all = schedules_of(group.anchor, sm80());
    for (const schedule::Schedule &each : all) {
      const schedule::Gemm gemm = gemm_of(group.anchor, each);
      EXPECT_FALSE(core_gathers(gemm, 0));
      EXPECT_EQ(core_copy_elems(gemm, 0), 8);
      EXPECT_EQ(core_cuts_runs(gemm, 0), gemm.roles.depth_points % 8 != 0);
    }
    checked += check_schedules(group, sm80(), all, 6);
  }
  EXPECT_GE(checked, 8);
}

// The partial nest of a split reduction has an output index more, and stores accumulators.
TEST(Core, SplitReductionsStoreAccumulators) {
  int checked = 0;
  for (const auto &[problem, split] :
       {std::pair{Conv{.c = 64}, "r:3"},
        {Conv{.c = 128, .k = 40, .stride = 2}, "c:4"},
        {Conv{.c = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
         "r:3 s:3"}}) {
    const nest::Nest whole = group_of(problem).anchor;
    const nest::Nest partial =
        nest::split_reduction(whole, nest::parse_split(whole, split)).partial;
    checked += check_schedules({partial}, sm80(), schedules_of(partial, sm80()), 12);
  }
  EXPECT_GE(checked, 5);
}

TEST(Core, RealsStayWithinTheirBound) {
  for (const char *in : {"f16", "f32"}) {
    KernelCase kernel_case{.group = group_of({.c = 96, .k = 40, .in = in}), .target = sm80()};
    kernel_case.values = Values::Reals;
    const char *name = in == std::string("f32") ? "mma_tf32" : "mma";
    kernel_case.schedule =
        *search::named_core_schedule(name, kernel_case.group.anchor, kernel_case.target).schedule;
    const auto divergence = check_lowered(Reference(kernel_case));
    EXPECT_FALSE(divergence) << divergence->what;
  }
}

// The taps of a row with their channels, as one index that shares its dimension with the pixels
// (program/rewrite/first_layer.h).
TEST(Core, RunsOfTapsAreADepth) {
  const poly::Group group{nest::parse_nest(R"(nest conv {
  index n 2, y 6, x 7, m 40 | r 7, k 32
  slot 0 f16 2720, 1 f16 8960, 2 f16 3360
  acc f32 = sum mul
  in 0 + 0 [n:2*1360, 2*y + r:17*80, 8*x + k:80*1]
  in 1 + 0 const [m:40*224, r:7*32, k:32*1]
  out 2 + 0 [n:2*1680, y:6*280, x:7*40, m:40*1]
  post f16(acc)
})")};
  const auto all = search::core_schedules(group.anchor, sm80(), false);
  for (const schedule::Schedule &each : all)
    EXPECT_EQ(schedule::core_copy_elems(schedule::gemm_of(group.anchor, each), 0), 8);
  check_schedules(group, sm80(), all, 8);
}

// The five properties of MegEngine's kernel.
TEST(Core, NothingMeetsInABank) {
  for (const Conv &problem :
       {Conv{.c = 64, .k = 64},
        Conv{.c = 32, .k = 64, .in = "i8", .out = "i32", .acc = "i32", .post = "acc + i32($0)"},
        Conv{.c = 16, .k = 64}}) {
    const poly::Group group = group_of(problem);
    const Target target = sm80();
    for (const schedule::Schedule &schedule :
         testing::sampled(schedules_of(group.anchor, target))) {
      EXPECT_EQ(bank_conflicts(counts_of(group, schedule, target)), "")
          << to_text(group.anchor, schedule);
    }
  }
}

// Copies of 16 bytes and more, and stores of results that were exchanged: no request asks for a
// sector that its bytes do not fill. Those of blocks of 32 bytes store half of each.
TEST(Core, CopiesAndStoresFillTheirSectors) {
  const Target target = sm80();
  const Conv bytes{
      .c = 64, .k = 128, .in = "i8", .out = "f16", .acc = "i32", .post = "f16(f32(acc) * $0)"};
  for (const poly::Group &group :
       {group_of({.c = 64, .k = 64}), group_of(bytes), nchw32(2, 4, 8, 2, 3)}) {
    const auto named = search::named_core_schedule("mma", group.anchor, target);
    ASSERT_TRUE(named.schedule) << named.refusal;
    const bool is_blocked = group.anchor.output_indices == 5;
    for (const int input : {0, 1})
      EXPECT_GE(schedule::core_copy_elems(schedule::gemm_of(group.anchor, *named.schedule), input) *
                    size_bytes(nest::input_type(group.anchor, static_cast<std::size_t>(input))),
                16);
    for (const kernel::AccessCounts &access : counts_of(group, *named.schedule, target).accesses) {
      const bool is_store = access.text.starts_with("b2");
      if (!is_store || !is_blocked) {
        EXPECT_EQ(access.sectors, access.sectors_needed) << access.text;
      }
    }
  }
}

// Data of one sign and filters of the other, as quantised models have them.
TEST(Core, BytesOfWhichOneOperandHasASign) {
  const Target target = sm80();
  for (const bool is_data : {false, true}) {
    const poly::Group group = group_of({.c = 64,
                                        .k = 64,
                                        .in = is_data ? "i8" : "u8",
                                        .out = "i32",
                                        .acc = "i32",
                                        .post = "acc + i32($0)",
                                        .filter = is_data ? "u8" : "i8"});
    const auto all = search::core_schedules(group.anchor, target, false);
    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().core.op->name, is_data ? "m16n8k32.s8.u8.s32" : "m16n8k32.u8.s8.s32");
    check_schedules(group, target, all, 7);
  }
}

TEST(Core, NothingIsDividedInTheMainLoop) {
  const poly::Group group = group_of({.c = 64, .k = 64, .stride = 2});
  const Target target = sm80();
  const kernel::Kernel kernel = lower::lower(
      group, *search::named_core_schedule("mma", group.anchor, target).schedule, target);
  const LoopCounts counts = loop_counts(kernel);
  EXPECT_EQ(counts.loops, 1);
  EXPECT_EQ(counts.divisions, 0);
}

TEST(Core, ChannelsInBlocksOf32) {
  const Target target = sm80();
  int checked = 0;
  for (const poly::Group &group :
       {nchw32(2, 3, 7, 2, 3), nchw32(1, 1, 6, 3, 1), nchw32(3, 4, 5, 1, 5)}) {
    const auto all = search::core_schedules(group.anchor, target, false);
    checked += check_schedules(group, target, all, 7);
    for (const std::size_t i : testing::sampled(testing::steps(all.size(), 7)))
      EXPECT_EQ(bank_conflicts(counts_of(group, all[i], target)), "");
  }
  EXPECT_GE(checked, 8);
}

// The source's own kernel: taps inside blocks of channels, two steps in flight, no filter packed.
TEST(Core, TheSourcesKernelIsANamedAlgorithm) {
  const Target target = sm80();
  const poly::Group group = nchw32(2, 4, 14, 4, 3);
  const auto named = search::named_core_schedule("mma_nchw32", group.anchor, target);
  ASSERT_TRUE(named.schedule) << named.refusal;
  EXPECT_EQ(to_text(group.anchor, *named.schedule), "schedule mma_nchw32 workitem\n"
                                                    "  tile   n:1 mo:1 y:1 x:1 mi:128 ci:64\n"
                                                    "  vec    mi:8\n"
                                                    "  mma    m16n8k32.s8.s32 m 128 warps 2 2\n"
                                                    "  loop   n mo y x mi co r s ci\n"
                                                    "  pipe   0 cp_async stages 2\n"
                                                    "  pipe   1 cp_async stages 2\n");
  EXPECT_EQ(search::named_core_schedule("mma_nchw32", group_of({}).anchor, target).refusal,
            "mma_nchw32 does not fit: its channels do not lie in blocks of 32 bytes");
}

TEST(Core, RefusalsSayWhy) {
  const Target target = sm80();
  const auto refusal = [&](const poly::Group &group, std::string_view name) {
    return search::named_core_schedule(name, group.anchor, target).refusal;
  };
  EXPECT_EQ(refusal(group_of({.in = "f32", .out = "f32", .post = "acc + $0"}), "mma"),
            "mma does not fit: no instruction multiplies its types");
  const poly::Group turned{nest::parse_nest(R"(nest gemm {
  index m 32, n 32 | k 32
  slot 0 i8 1024, 1 i8 1024, 2 i32 1024
  acc i32 = sum mul
  in 0 + 0 [m:32*32, k:32*1]
  in 1 + 0 [k:32*32, n:32*1]
  out 2 + 0 [m:32*32, n:32*1]
  post acc
})")};
  EXPECT_EQ(refusal(turned, "mma"), "mma does not fit: no reduced index lies contiguously in each "
                                    "input, whose elements are read no other way");
}

} // namespace
} // namespace tilefuse::model
