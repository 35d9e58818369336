// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

#include "cost/footprint.h"
#include "cost/group_model.h"
#include "cost/vector/vector_model.h"
#include "cost/waves.h"
#include "nest/products.h"
#include "schedule/text.h"

namespace tilefuse::cost {
namespace {

constexpr const char *kConv = R"(nest conv {
  index m 64, y 56, x 56 | c 64, r 3, s 3
  slot 0 f32 200704, 1 f32 36864, 2 f32 200704
  acc f32 = sum mul
  in 0 + 0 [c:64*1, y + r - 1:56?*3584, x + s - 1:56?*64]
  in 1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
  out 2 + 0 [m:64*1, y:56*3584, x:56*64]
  post acc
}
)";

// Windows of 3 x 3 in each channel, channels last.
nest::Nest depthwise_3x3(int channels, int size) {
  return nest::parse_nest(fmt::format(
      "nest conv {{\n  index c {0}, y {1}, x {1} | r 3, s 3\n"
      "  slot 0 f32 {2}, 1 f32 {3}, 2 f32 {2}\n  acc f32 = sum mul\n"
      "  in 0 + 0 [c:{0}*1, y + r - 1:{1}?*{4}, x + s - 1:{1}?*{0}]\n"
      "  in 1 + 0 const [c:{0}*9, r:3*3, s:3*1]\n  out 2 + 0 [c:{0}*1, y:{1}*{4}, x:{1}*{0}]\n"
      "  post acc\n}}\n",
      channels, size, channels * size * size, channels * 9, channels * size));
}

schedule::Schedule conv_schedule(const nest::Nest &nest, const std::string &tile,
                                 const std::string &keep) {
  return schedule::parse_schedule(nest, "schedule t vector\n  tile " + tile +
                                            "\n  lane m:8\n  keep " + keep +
                                            "\n  loop m y x r s c\n  stage 0\n  pack 1\n");
}

Target two_cores() {
  Target target;
  target.compute_units = 2;
  target.local_bytes = 1 << 20;
  return target;
}

double seconds(const std::string &tile, const std::string &keep) {
  const nest::Nest nest = nest::parse_nest(kConv);
  return predict(nest, conv_schedule(nest, tile, keep), two_cores()).seconds;
}

TEST(Makespan, DealsUnequalBlocksToUnits) {
  const auto time = [](const std::vector<bool> &edge, double = 1) { return edge[0] ? 1.0 : 4.0; };
  EXPECT_DOUBLE_EQ(makespan({{3, true}}, {.units = 2}, time), 5);
  EXPECT_DOUBLE_EQ(makespan({{3, false}}, {.units = 2}, time), 8);
  EXPECT_DOUBLE_EQ(makespan({{3, true}}, {.units = 1}, time), 9);
}

TEST(Makespan, LastDimensionIsDealtFastest) {
  const auto time = [](const std::vector<bool> &edge, double = 1) {
    return (edge[0] ? 1.0 : 2.0) * (edge[1] ? 10.0 : 1.0);
  };
  // Blocks take 2, 20, 1, 10: each unit gets a stretch of two.
  EXPECT_DOUBLE_EQ(makespan({{2, true}, {2, true}}, {.units = 2}, time), 22);
}

TEST(Makespan, IdleUnitsTakeFromTheEndOfOthersStretches) {
  const auto time = [](const std::vector<bool> &edge, double = 1) { return edge[0] ? 1.0 : 4.0; };
  // Eight blocks, the last four of them shorter: stretches of four take 16 and 4.
  const auto in_rows = [&](const std::vector<bool> &edge, double) { return time({edge[0]}); };
  EXPECT_DOUBLE_EQ(makespan({{2, true}, {4, false}}, {.units = 2}, in_rows), 12);
}

TEST(Makespan, RunsOfBlocksAreTakenAtOnce) {
  const auto time = [](const std::vector<bool> &, double = 1) { return 1.0; };
  // Runs of 3, 3 and 2: one unit takes the first and the last.
  EXPECT_DOUBLE_EQ(makespan({{8, false}}, {.units = 2, .at_once = 3}, time), 5);
  EXPECT_DOUBLE_EQ(makespan({{8, false}}, {.units = 2}, time), 4);
}

// Blocks of a small kernel follow one another on the calling thread; a large one's are dealt.
TEST(VectorModel, SmallKernelsTakeOneCore) {
  const auto waves = [](int elems, int tile) {
    const nest::Nest nest = nest::parse_nest(fmt::format(R"(nest map {{
  index d {0}
  slot 0 f32 {0}, 1 f32 {0}
  acc f32 = assign
  in 0 + 0 [d:{0}*1]
  out 1 + 0 [d:{0}*1]
  post acc
}})",
                                                         elems));
    Target target = two_cores();
    target.features.insert(Feature::SharedBlocks);
    target.gflops_per_unit = 100;
    target.gbytes_per_s = 10;
    const auto schedule = schedule::parse_schedule(
        nest, fmt::format("schedule t vector\n  tile d:{}\n  lane d:8\n  loop d\n", tile));
    return predict(nest, schedule, target).waves;
  };
  EXPECT_GE(waves(1024, 512), 2);
  EXPECT_LT(waves(1 << 16, 1 << 15), 2);
}

// Two halves of 240 channels, interleaved.
double shuffle_seconds(int pixels, const std::string &keep, const std::string &loop) {
  const nest::Nest nest = nest::parse_nest(fmt::format(R"(nest copy {{
  index a 240, b 2, p {0}
  slot 0 f32 {1}, 1 f32 {1}
  acc f32 = assign
  in 0 + 0 [b:2*240, a:240*1, p:{0}*480]
  out 1 + 0 [a:240*2, b:2*1, p:{0}*480]
  post acc
}})",
                                                       pixels, pixels * 480));
  Target target = two_cores();
  target.vector_f32 = 16;
  target.launch_us = 0;
  const std::string text = fmt::format("schedule t vector\n  tile a:240 b:2 p:{}\n  lane a:16\n"
                                       "  keep {}\n  loop {}\n",
                                       pixels / 2, keep, loop);
  return predict(nest, schedule::parse_schedule(nest, text), target).seconds;
}

TEST(VectorModel, StoresOfSmallTilesAreJoined) {
  EXPECT_GT(shuffle_seconds(6, "a:3 b:2", "p a b"), shuffle_seconds(6, "b:2", "p a b"));
}

TEST(VectorModel, MapsWalkAsTheirResultsLie) {
  EXPECT_GT(shuffle_seconds(50, "b:2", "a p b"), 1.2 * shuffle_seconds(50, "b:2", "p a b"));
}

// What a term computes of the mean of a row alone is computed once a row.
TEST(VectorModel, TermsComputeWhatStaysBeforeTheLoop) {
  const auto seconds = [](const std::string &term, const std::string &keep) {
    const nest::Nest nest = nest::parse_nest(fmt::format(R"(nest sum {{
  index o 197 | a 768
  slot 0 f32 151296, 1 f32 197, 2 f32 197
  acc f32 = sum term
  in 0 + 0 [o:197*768, a:768*1]
  in 1 + 0 [o:197*1]
  term {}
  out 2 + 0 [o:197*1]
  post acc
}})",
                                                         term));
    const auto schedule = schedule::parse_schedule(
        nest, "schedule t vector\n  tile o:100\n  lane a:8\n  keep " + keep + "\n  loop o a\n");
    return predict(nest, schedule, two_cores()).seconds;
  };
  EXPECT_LT(seconds("$0 - $1 / 768", "o:4 a:4"), 1.05 * seconds("$0 - $1", "o:4 a:4"));
  EXPECT_GT(seconds("$0 - $0 / 768", "o:4 a:4"), 1.5 * seconds("$0 - $1", "o:4 a:4"));
  // Vectors of a row are added to one another before they wait for the sum.
  EXPECT_GT(seconds("$0 - $1", "a:1"), 1.3 * seconds("$0 - $1", "a:8"));
}

// Threads that end first take the others' last blocks, and their lines: not where each has one.
TEST(VectorModel, BlocksThatAreTakenCost) {
  const nest::Nest nest = nest::parse_nest(R"(nest map {
  index d 65536
  slot 0 f32 65536, 1 f32 65536
  acc f32 = assign
  in 0 + 0 [d:65536*1]
  out 1 + 0 [d:65536*1]
  post acc
})");
  Target target = two_cores();
  target.features.insert(Feature::SharedBlocks);
  const auto seconds = [&](int tile) {
    return predict(nest,
                   schedule::parse_schedule(
                       nest,
                       fmt::format("schedule t vector\n  tile d:{}\n  lane d:8\n  loop d\n", tile)),
                   target)
        .seconds;
  };
  EXPECT_NEAR((seconds(1 << 14) - seconds(1 << 15)) * 1e6, 0.3, 0.1);
}

// What they share of steps is the same in all of them, or told anew where a tile is staged.
TEST(VectorPrices, AreThosePredictedOfEachSchedule) {
  const Target target = two_cores();
  const nest::Nest conv = nest::parse_nest(kConv);
  const nest::Nest matrix = testing::convolution_1x1(512, 196, 1024);
  const auto direct = [&](int m, int x) {
    return schedule::parse_schedule(
        matrix, fmt::format("schedule t vector\n  tile m:{} x:{}\n  lane m:16\n  reg m:2 x:6\n"
                            "  loop m x c\n  pack 1\n",
                            m, x));
  };
  const VectorPrices of_conv(conv, conv_schedule(conv, "m:16 y:1 x:6", "m:2 x:6"), target);
  for (const char *tile : {"m:16 y:1 x:6", "m:64 y:4 x:60", "m:16 y:56 x:12"}) {
    const schedule::Schedule staged = conv_schedule(conv, tile, "m:2 x:6");
    EXPECT_EQ(of_conv.of(staged).seconds, predict(conv, staged, target).seconds) << tile;
  }
  const VectorPrices of_matrix(matrix, direct(32, 6), target);
  for (const auto &[m, x] : {std::pair(32, 6), std::pair(512, 12), std::pair(64, 198)})
    EXPECT_EQ(of_matrix.of(direct(m, x)).seconds, predict(matrix, direct(m, x), target).seconds)
        << m << ' ' << x;
}

TEST(Footprint, RunsOfMemoryAndTheirRepeats) {
  const nest::Nest nest = nest::parse_nest(kConv);
  const std::vector<Stream> all = streams(nest, conv_schedule(nest, "m:64 y:4 x:60", "m:2 x:6"));
  // Results of 16 channels at 6 pixels: one line each.
  const Stream::Piece out = all.back().piece({16, 1, 6, 64, 3, 3});
  EXPECT_DOUBLE_EQ(out.run, 64);
  EXPECT_DOUBLE_EQ(out.repeats, 6);
  // Packed filters of 16 channels lie together.
  const Stream::Piece filter = all[1].piece({16, 1, 6, 64, 3, 3});
  EXPECT_DOUBLE_EQ(filter.run, 16 * 576 * 4);
  EXPECT_DOUBLE_EQ(filter.repeats, 1);
}

TEST(Footprint, WhatFitsIsBroughtInOnce) {
  const nest::Nest nest = nest::parse_nest(kConv);
  const std::vector<Stream> all = streams(nest, conv_schedule(nest, "m:64 y:4 x:60", "m:2 x:6"));
  const Spans step = {16, 1, 6, 64, 3, 3};
  EXPECT_DOUBLE_EQ(traffic(all, step, {{IndexId{1}, 4}}, {1e9})[1], 16 * 576 * 4);
  EXPECT_DOUBLE_EQ(traffic(all, step, {{IndexId{1}, 4}}, {1e3})[1], 4 * 16 * 576 * 4);
}

// A tensor that crowds into a few sets throws out its own lines, not those of a small one that all
// steps read.
TEST(Footprint, CrowdedLinesLeaveOthersInTheCache) {
  const nest::Nest nest = testing::filter_gradient_1x1(512, 64, 392);
  const std::vector<Stream> all = streams(
      nest, schedule::parse_schedule(nest, "schedule t vector\n  tile c:512 m:64\n  lane m:16\n"
                                           "  reg c:8 m:4\n  loop m c p\n"));
  const Spans step = {8, 64, 392};
  // 392 lines of the first in 32 of 1024 sets; the second, 98 KiB, once for all steps over c.
  const std::vector<double> moved = traffic(all, step, {{IndexId{0}, 64}}, {400e3, 65536});
  EXPECT_DOUBLE_EQ(moved[0], 64 * all[0].bytes(step));
  EXPECT_DOUBLE_EQ(moved[1], all[1].bytes(step));
}

// Pixels of 1024 channels lie 4096 bytes apart: all in one set of a first level of 48 KiB in 12
// ways.
TEST(Footprint, PixelsAWayApartShareASet) {
  const nest::Nest nest = testing::convolution_1x1(512, 196, 1024);
  const auto schedule = [&](int pixels) {
    return schedule::parse_schedule(
        nest, fmt::format("schedule t vector\n  tile m:32 x:{0}\n  lane m:16\n  reg m:2 x:{0}\n"
                          "  loop m x c\n  pack 1\n",
                          pixels));
  };
  EXPECT_EQ(lines_in_a_set(streams(nest, schedule(9))[0], schedule(9), 2, 4096), 9);
  EXPECT_EQ(lines_in_a_set(streams(nest, schedule(13))[0], schedule(13), 2, 4096), 13);
  EXPECT_EQ(lines_in_a_set(streams(nest, schedule(13))[2], schedule(13), 2, 4096), 7);
  Target target = two_cores();
  target.l1_bytes = 48 << 10;
  const auto l2_us = [&](int pixels) {
    for (const Reason &reason : predict(nest, schedule(pixels), target).reasons)
      if (std::string_view(reason.what) == "second-level cache")
        return reason.value;
    return 0.0;
  };
  EXPECT_GT(l2_us(13), 2 * l2_us(9));
}

// Pixels of as many channels as fill whole banks of a cache begin in the same one.
TEST(Footprint, ShortRunsAMultipleOfBanksApartWait) {
  const auto wait = [](int channels, double together) {
    const nest::Nest nest = depthwise_3x3(channels, 14);
    const Stream in = streams(nest, schedule::scalar_schedule(nest)).front();
    return bank_conflict(in.piece({together, 1, 4, 3, 3}));
  };
  EXPECT_GT(wait(512, 16), 2);
  EXPECT_GT(wait(512, 16), wait(512, 64));
  EXPECT_LT(wait(512, 512), 1.05);
  EXPECT_DOUBLE_EQ(wait(496, 16), 1);
  const nest::Nest nest = depthwise_3x3(512, 14);
  const Stream in = streams(nest, schedule::scalar_schedule(nest)).front();
  EXPECT_LT(bank_conflict(in.piece({64, 2, 2, 3, 3})),
            bank_conflict(in.piece({64, 1, 4, 3, 3}))); // in a row
}

// Units that deal out channels write beside each other in every pixel; rows meet once.
TEST(VectorModel, UnitsThatDealOutChannelsTakeLinesFromEachOther) {
  const nest::Nest nest = depthwise_3x3(1024, 7);
  Target target = two_cores();
  target.vector_f32 = 16;
  target.vector_registers = 32;
  target.gflops_per_unit = 192; // 64 a cycle
  target.l2_bytes = 1 << 20;
  const auto us = [&](const std::string &tile) {
    const schedule::Schedule schedule = schedule::parse_schedule(
        nest, "schedule t vector\n  tile   " + tile +
                  "\n  lane   c:16\n  reg    c:2 y:2 x:7 r:3 s:3\n  loop   y x c r s\n"
                  "  peel   y x\n  pack   1\n");
    return predict(nest, schedule, target).seconds * 1e6;
  };
  EXPECT_GT(us("c:512 y:8 x:7"), 1.1 * us("c:512 y:4 x:7"));
}

// Taps that read vectors again keep them in registers: too many are spilled.
TEST(VectorModel, KeptTapsTakeRegisters) {
  const nest::Nest nest = depthwise_3x3(144, 56);
  const auto spills = [&](const std::string &tile, const std::string &keep) {
    Target target = two_cores();
    target.vector_f32 = 16;
    target.vector_registers = 32;
    const schedule::Schedule rows = schedule::parse_schedule(
        nest, "schedule t vector\n  tile   c:96 " + tile + "\n  lane   c:16\n  keep   " + keep +
                  " r:3 s:3\n  loop   c y x r s\n  peel   y x\n  pack   1\n");
    for (const Reason &reason : predict(nest, rows, target).reasons)
      if (std::string_view(reason.what) == "  spills")
        return reason.value;
    return -1.0;
  };
  EXPECT_EQ(spills("y:56 x:60", "y:2 x:6"), 0);
  EXPECT_EQ(spills("y:56 x:56", "c:2 y:2 x:2"), 0);
  EXPECT_GT(spills("y:56 x:60", "y:2 x:12"), 8);
  EXPECT_GT(spills("y:56 x:56", "c:2 y:2 x:7"), 8);
}

TEST(VectorModel, LoadsPerMultiplyAddCount) {
  // As many multiply-adds per step, but 13 loads instead of 8.
  EXPECT_LT(seconds("m:64 y:14 x:60", "m:2 x:6"), seconds("m:64 y:14 x:60", "m:1 x:12"));
}

// Pixels of halves are converted at each read, which costs more than reading floats; staged, once.
TEST(VectorModel, HalvesAreConverted) {
  const auto compute = [](std::string_view type, const std::string &fill) {
    const nest::Nest nest = nest::parse_nest(fmt::format(
        "nest gemm {{\n  index m 64, y 3136 | c 64\n  slot 0 {0} 200704, 1 f32 4096, 2 {0} 200704\n"
        "  acc f32 = sum mul\n  in 0 + 0 [y:3136*64, c:64*1]\n  in 1 + 0 const [m:64*64, c:64*1]\n"
        "  out 2 + 0 [y:3136*64, m:64*1]\n  post acc\n}}\n",
        type));
    const schedule::Schedule schedule = schedule::parse_schedule(
        nest, "schedule t vector\n  tile m:64 y:60\n  lane m:8\n  keep m:2 y:6\n  loop m y c\n" +
                  fill + "  pack 1\n");
    const Estimate estimate = predict(nest, schedule, two_cores());
    return std::pair{estimate.compute, estimate.staging};
  };
  const std::string staged = "  stage 0\n";
  EXPECT_GT(compute("f16", "").first, 1.1 * compute("f32", "").first);
  EXPECT_GT(compute("bf16", "").first, 1.1 * compute("f32", "").first);
  EXPECT_LT(compute("f16", staged).first, 1.05 * compute("f32", staged).first);
  EXPECT_GT(compute("f16", staged).second, compute("f32", staged).second);
}

// The lanes are points of the sum, of which a block takes half at once.
TEST(VectorModel, OneBlockTearsNoLinesOfOthers) {
  const nest::Nest nest =
      nest::parse_nest("nest sum {\n  index y 1 | k 64\n  slot 0 f32 64, 1 f32 1\n  acc f32 = sum\n"
                       "  in 0 + 0 [y:1*64, k:64*1]\n  out 1 + 0 [y:1*1]\n  post acc\n}\n");
  const schedule::Schedule schedule =
      schedule::parse_schedule(nest, "schedule t vector\n  tile k:32\n  lane k:8\n  loop y k\n");
  const Estimate estimate = predict(nest, schedule, two_cores());
  EXPECT_LT(estimate.seconds - estimate.launch, 1e-6);
}

TEST(VectorModel, SpillsAndShortChainsCost) {
  EXPECT_LT(seconds("m:64 y:14 x:60", "m:2 x:6"), seconds("m:64 y:14 x:60", "m:4 x:6"));
  EXPECT_LT(seconds("m:64 y:14 x:60", "m:2 x:6"), seconds("m:64 y:14 x:56", "m:1 x:2"));
}

TEST(VectorModel, OneBlockLeavesACoreIdle) {
  EXPECT_LT(1.5 * seconds("m:64 y:28 x:60", "m:2 x:6"), seconds("m:64 y:56 x:60", "m:2 x:6"));
}

// A filter gradient: every tile walks through both inputs, which come from memory each time once
// the third level does not hold them.
TEST(VectorModel, InputsBeyondTheThirdLevelComeFromMemory) {
  const auto memory_us = [](int pixels) {
    const nest::Nest nest = testing::filter_gradient_1x1(64, 256, pixels);
    const schedule::Schedule tiles = schedule::parse_schedule(
        nest, "schedule t vector\n  tile c:64 m:128\n  lane m:8\n  reg c:4 m:2\n  loop m c p\n");
    for (const Reason &reason : predict(nest, tiles, two_cores()).reasons)
      if (std::string_view(reason.what) == "memory")
        return reason.value;
    return -1.0;
  };
  EXPECT_EQ(memory_us(4096), 0);
  // At 40 GB/s of a core, more than three trips over half of both inputs.
  EXPECT_GT(memory_us(32768), 3 * 32768 * 320 * 4 / 40e3 / 2);
}

// Rows of a producer's tile lie anywhere in the tensor, not at its upper edge: 56 tiles of a row
// have as many taps as the whole.
TEST(VectorModel, TilesHaveTheTapsOfTheirWhole) {
  const nest::Nest whole = depthwise_3x3(32, 56);
  nest::Nest row = whole;
  row.indices[1].extent = 1;
  const schedule::Schedule clipped = schedule::parse_schedule(
      whole, "schedule t vector\n  tile   c:32 y:56 x:56\n  lane   c:16\n  reg    x:8 s:3\n"
             "  loop   y c x r s\n  trim   r\n  peel   x\n");
  schedule::Schedule of_row = clipped;
  of_row.splits[1].tile = 1;
  const Target target = two_cores();
  EXPECT_NEAR(56 * predict_tile(whole, row, of_row, target).compute,
              predict_tile(whole, whole, clipped, target).compute, 1e-9);
}

TEST(VectorModel, ReasonsAddUpToWhatIsPredicted) {
  const nest::Nest nest = nest::parse_nest(kConv);
  const Estimate estimate =
      predict(nest, conv_schedule(nest, "m:64 y:14 x:60", "m:2 x:6"), two_cores());
  EXPECT_EQ(estimate.blocks, 4);
  EXPECT_NEAR(estimate.waves, 2, 0.05);
  EXPECT_GT(estimate.seconds, estimate.launch + 2 * (estimate.compute + estimate.staging));
  EXPECT_NE(explain(estimate).find("multiply-adds"), std::string::npos);
}

} // namespace
} // namespace tilefuse::cost
