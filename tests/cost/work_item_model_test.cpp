// SPDX-License-Identifier: Apache-2.0
// What the model of work-items must tell apart, one pair of schedules or devices at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "cost/model.h"
#include "schedule/text.h"
#include "target/device_rows.h"
#include "target/rows.h"

namespace tilefuse::cost {
namespace {

std::string conv(const std::string &post) {
  return R"(nest conv {
  index m 64, y 56, x 56 | c 64, r 3, s 3
  slot 0 f32 200704, 1 f32 36864, 2 f32 200704
  acc f32 = sum mul
  in 0 + 0 [c:64*1, y + r - 1:56?*3584, x + s - 1:56?*64]
  in 1 + 0 const [m:64*576, c:64*9, r:3*3, s:3*1]
  out 2 + 0 [m:64*1, y:56*3584, x:56*64]
  post )" +
         post + "\n}\n";
}

Target gpu() {
  Target target;
  target.backend = "cuda";
  target.lanes = LaneKind::WorkItem;
  target.vector_registers = 255;
  target.max_group = 1024;
  target.compute_units = 16;
  target.local_bytes = 49152;
  target.local_is_hw = true;
  target.local_banks = 32;
  target.warp = 32;
  target.sector_bytes = 32;
  target.l1_bytes = 131072;
  target.l2_bytes = 32 << 20;
  target.gflops_per_unit = 500;
  target.gbytes_per_s = 2000;
  return testing::with_row(target, "cuda_sm90");
}

Estimate estimate(const std::string &lines, const Target &target = gpu(),
                  const std::string &post = "acc") {
  const nest::Nest nest = nest::parse_nest(conv(post));
  return predict(nest, schedule::parse_schedule(nest, "schedule t workitem\n" + lines), target);
}

double reason(const Estimate &estimate, const std::string &what) {
  for (const Reason &line : estimate.reasons)
    if (line.what == what)
      return line.value;
  ADD_FAILURE() << "no reason " << what;
  return 0;
}

// Register tiles of 4 pixels, lanes over channels, the data staged in chunks of 8 channels.
constexpr const char *kStaged = "  tile m:64 y:1 x:28 c:8\n  lane m:64\n  reg x:4\n"
                                "  loop y x m c r s\n  stage 0 at c\n  pack 1\n";

// Four warps of a block read the same coefficients of channels, and blocks that follow them do.
TEST(WorkItemModel, CoefficientsThatWarpsShareComeFromTheSecondLevelOnce) {
  const nest::Nest map = nest::parse_nest("nest map {\n"
                                          "  index p 401408, c 256\n"
                                          "  slot 0 f16 102760448, 1 f32 256, 2 f16 102760448\n"
                                          "  acc f16 = assign\n"
                                          "  out 2 + 0 [p:401408*256, c:256*1]\n"
                                          "  extra 0 + 0 [p:401408*256, c:256*1]\n"
                                          "  extra 1 + 0 [c:256*1]\n"
                                          "  post f16(f32($0) * $1)\n}\n");
  const auto predicted = [&](const std::string &lines) {
    return predict(map, schedule::parse_schedule(map, "schedule t workitem\n" + lines), gpu());
  };
  const Estimate wide =
      predicted("  tile p:8 c:256\n  lane p:4 c:32\n  vec c:8\n  reg p:2\n  loop c p\n");
  const Estimate narrow = predicted("  tile p:14 c:64\n  lane c:64\n  reg p:14\n  loop c p\n");
  const double rows = 8 * 256 * 2 * 2; // bytes that a block reads and writes of its rows
  const double second_level = reason(wide, "second-level cache") * gpu().rates.l2_bytes_per_cycle;
  EXPECT_NEAR(second_level, rows, 16);
  EXPECT_LT(wide.seconds, narrow.seconds);
}

// A row of devices/ with a rate of its own, beside the one that it takes the others from.
TEST(WorkItemModel, ARowsOwnRateChangesThePrediction) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "tilefuse_own_rate";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(TILEFUSE_SOURCE_DIR "/devices/cuda_sm90.toml", folder / "like.toml");
  std::ofstream(folder / "own.toml") << "name = \"own\"\nbackend = \"cuda\"\nisa = \"sm_90a\"\n"
                                        "lanes = \"workitem\"\nrates_like = \"cuda_sm90\"\n"
                                        "[rates]\nblock_start_cycles = 200000.0\n";
  Target own = gpu();
  for (const Target &row : read_targets(folder.string()))
    if (row.name == "own")
      own.rates = row.rates;
  EXPECT_LT(1.2 * estimate(kStaged).seconds, estimate(kStaged, own).seconds);
  std::filesystem::remove_all(folder);
}

TEST(WorkItemModel, LargerRegisterTilesReadLessPerMultiplyAdd) {
  const double one = estimate("  tile m:64 y:1 x:28 c:8\n  lane m:64\n"
                              "  loop y x m c r s\n  stage 0 at c\n  pack 1\n")
                         .seconds;
  EXPECT_LT(1.3 * estimate(kStaged).seconds, one);
}

TEST(WorkItemModel, TheLastWaveIsPaidWhole) {
  Target target = gpu();
  target.launch_us = 0;
  const Estimate any = estimate(kStaged, target);
  const double resident = reason(any, "  resident on a multiprocessor");
  target.compute_units = static_cast<int>(std::ceil(static_cast<double>(any.blocks) / resident));
  const Estimate whole = estimate(kStaged, target);
  --target.compute_units;
  const Estimate tail = estimate(kStaged, target);
  EXPECT_EQ(whole.waves, 1);
  EXPECT_EQ(tail.waves, 2);
  EXPECT_LT(1.3 * whole.seconds, tail.seconds);
}

TEST(WorkItemModel, LocalMemoryLimitsTheBlocksOfAMultiprocessor) {
  const Estimate small = estimate(kStaged);
  const Estimate large = estimate("  tile m:64 y:4 x:28 c:64\n  lane m:64\n  reg x:4\n"
                                  "  loop y x m c r s\n  stage 0\n  pack 1\n");
  EXPECT_EQ(reason(large, "  local memory"), 6 * 30 * 64 * 4);
  EXPECT_EQ(reason(large, "  resident on a multiprocessor"), 2);
  EXPECT_GT(reason(small, "  resident on a multiprocessor"), 8);
}

TEST(WorkItemModel, RegistersLimitTheBlocksOfAMultiprocessor) {
  const Estimate few = estimate(kStaged);
  const Estimate many = estimate("  tile m:64 y:2 x:56 c:8\n  lane m:64\n  reg y:2 x:28\n"
                                 "  loop y x m c r s\n  stage 0 at c\n  pack 1\n");
  EXPECT_LT(reason(many, "  resident on a multiprocessor"),
            reason(few, "  resident on a multiprocessor"));
}

// Lanes over pixels read a staged tile whose channels lie together: 8 floats apart, eight lanes to
// a bank. Turned, the pixels lie together.
TEST(WorkItemModel, BanksOfTheAccessesThatAreMadeCount) {
  const std::string plain = "  tile m:4 y:2 x:16 c:8\n  lane y:2 x:16\n  reg m:4\n"
                            "  loop m y x c r s\n  stage 0 at c\n  pack 1\n";
  std::string turned = plain;
  turned.replace(turned.find("at c"), 4, "at c turned");
  const char *what = "local memory and first-level cache";
  EXPECT_GT(reason(estimate(plain), what), 1.5 * reason(estimate(turned), what));
}

// The same work in blocks of a row and of four rows: the halo is copied twice less often.
TEST(WorkItemModel, TheHaloIsCopied) {
  const auto bytes = [](const std::string &rows) {
    const Estimate made = estimate("  tile m:64 y:" + rows +
                                   " x:28 c:8\n  lane m:64\n  reg x:4\n"
                                   "  loop y x m c r s\n  stage 0\n  stage 1\n");
    return reason(made, "second-level cache") * static_cast<double>(made.blocks);
  };
  EXPECT_GT(bytes("1"), bytes("4"));
}

TEST(WorkItemModel, LanesPastTheEdgeCostTheirTime) {
  const double whole = estimate("  tile m:64 y:1 x:28\n  lane x:28\n  reg m:4\n"
                                "  loop m y x c r s\n  pack 1\n")
                           .seconds;
  const double wasted = estimate("  tile m:64 y:1 x:64\n  lane x:64\n  reg m:4\n"
                                 "  loop m y x c r s\n  pack 1\n")
                            .seconds;
  EXPECT_NE(whole, wasted);
}

TEST(WorkItemModel, PostOpsCount) {
  EXPECT_LT(estimate(kStaged).seconds,
            estimate(kStaged, gpu(), "tanh(exp(acc)) + exp(tanh(acc))").seconds);
}

// Each lane of a warp reads a line of its own, or all read neighbours.
TEST(WorkItemModel, ScatteredReadsOfGlobalMemoryCostMore) {
  const std::string scattered = "  tile m:64 y:1 x:56\n  lane m:64\n  reg x:4\n"
                                "  loop y x m c r s\n  stage 0\n";
  const char *what = "local memory and first-level cache";
  EXPECT_GT(reason(estimate(scattered), what),
            4 * reason(estimate(scattered + "  pack 1\n"), what));
  EXPECT_GT(estimate(scattered).seconds, estimate(scattered + "  pack 1\n").seconds);
}

// All that a body reads is under way in registers: with every tap written out few blocks fit.
TEST(WorkItemModel, ReadsOfABodyTakeRegisters) {
  const nest::Nest nest = nest::parse_nest(R"(nest depthwise {
    index y 56, x 56, c 384 | r 7, s 7
    slot 0 f16 1204224, 1 f16 18816, 2 f16 1204224
    acc f32 = sum mul
    in 0 + 0 [y + r - 3:56?*21504, x + s - 3:56?*384, c:384*1]
    in 1 + 0 const [c:384*49, r:7*7, s:7*1]
    out 2 + 0 [y:56*21504, x:56*384, c:384*1]
    post f16(acc)
  })");
  const auto blocks = [&](const std::string &registers) {
    const std::string lines = "  tile y:1 x:7 c:64\n  lane c:32\n  vec c:2\n  reg " + registers +
                              "\n  loop y x c r s\n  pack 1\n";
    const auto schedule = schedule::parse_schedule(nest, "schedule t workitem\n" + lines);
    return reason(predict(nest, schedule, gpu()), "  resident on a multiprocessor");
  };
  EXPECT_EQ(blocks("x:7"), 32);
  EXPECT_NEAR(blocks("x:7 s:7"), 28, 2);     // NVRTC 13.0: 72 registers
  EXPECT_NEAR(blocks("x:7 r:7 s:7"), 12, 2); // 159
}

// Four channels a vector: a guard and a test belong to the read, not to each of its elements, and
// each element is converted.
TEST(WorkItemModel, GuardsBelongToReads) {
  const auto instructions = [&](const std::string &bound, const std::string &type) {
    const nest::Nest nest = nest::parse_nest(
        "nest depthwise {\n  index y 56, x 56, c 384 | r 3, s 3\n  slot 0 " + type +
        " 1291776, 1 f16 3456, 2 f16 1204224\n  acc f32 = sum mul\n  in 0 + 0 [y + r:" + bound +
        "*22272, x + s:" + bound + "*384, c:384*1]\n  in 1 + 0 const [c:384*9, r:3*3, s:3*1]\n" +
        "  out 2 + 0 [y:56*21504, x:56*384, c:384*1]\n  post f16(acc)\n}");
    const auto schedule = schedule::parse_schedule(
        nest, "schedule t workitem\n  tile y:1 x:1 c:128\n  lane c:32\n  vec c:4\n"
              "  reg r:3 s:3\n  loop y x c r s\n  pack 1\n");
    return reason(predict(nest, schedule, gpu()), "  instructions");
  };
  const double plain = instructions("58", "f16");
  EXPECT_LT(instructions("58?", "f16") - plain, 5);
  EXPECT_NEAR(plain - instructions("58", "f32"), 4, 0.5);
}

// What all blocks of a multiprocessor read comes from the second-level cache once.
TEST(WorkItemModel, ASmallFilterStaysInTheFirstLevel) {
  const auto missed = [&](int channels) {
    const std::string c = std::to_string(channels), row = std::to_string(56 * channels);
    const std::string elems = std::to_string(56 * 56 * channels);
    const nest::Nest nest = nest::parse_nest(
        "nest depthwise {\n  index y 56, x 56, c " + c + " | r 7\n  slot 0 f16 " + elems +
        ", 1 f16 " + std::to_string(7 * channels) + ", 2 f16 " + elems +
        "\n  acc f32 = sum mul\n  in 0 + 0 [y:56*" + row + ", x:56*" + c + ", c:" + c +
        "*1]\n  in 1 + 0 const [c:" + c + "*7, r:7*1]\n  out 2 + 0 [y:56*" + row + ", x:56*" + c +
        ", c:" + c + "*1]\n  post f16(acc)\n}");
    const auto schedule = schedule::parse_schedule(
        nest, "schedule t workitem\n  tile y:1 x:1 c:128\n  lane c:32\n  vec c:4\n  reg r:7\n"
              "  loop y x c r\n  pack 1\n");
    return reason(predict(nest, schedule, gpu()), "second-level cache");
  };
  EXPECT_LT(2 * missed(384), missed(4096));
}

TEST(WorkItemModel, ReasonsAreGiven) {
  const std::string text = explain(estimate(kStaged));
  for (const char *what : {"blocks", "instructions", "second-level cache", "waves", "launch"})
    EXPECT_NE(text.find(what), std::string::npos) << what;
}

} // namespace
} // namespace tilefuse::cost
