// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cost/footprint.h"
#include "target/core_ops.h"

namespace tilefuse::cost {
namespace {

TEST(Roofline, IsTheLongerOfArithmeticAndMemory) {
  Target target;
  target.gflops_per_unit = 100;
  target.compute_units = 10;
  target.gbytes_per_s = 50;
  const Roofline busy = roofline(2e9, 5e6, {}, target);
  EXPECT_DOUBLE_EQ(busy.arithmetic, 2e-3);
  EXPECT_DOUBLE_EQ(busy.memory, 1e-4);
  EXPECT_DOUBLE_EQ(busy.seconds(), 2e-3);
  EXPECT_STREQ(busy.limit(), "arithmetic");
  EXPECT_STREQ(roofline(2e9, 5e9, {}, target).limit(), "memory");
}

// 8 KB of 10 are the first level's, whose rate all bytes pass; the rest comes from memory.
TEST(Roofline, BytesBeyondACacheComeFromTheNextLevel) {
  const Ceilings ceilings{.flops_per_s = 1e9, .levels = {{8e3, 10e9}, {0, 1e9}}};
  const auto moved = [&](double bytes) { return roofline(0, bytes, {}, {}, ceilings).memory; };
  EXPECT_DOUBLE_EQ(moved(5e3), 5e-7);
  EXPECT_DOUBLE_EQ(moved(8.1e3), 8.1e-7);
  EXPECT_DOUBLE_EQ(moved(10e3), 2e-6);
  EXPECT_DOUBLE_EQ(roofline(1e9, 0, {}, {}, ceilings).arithmetic, 1);
}

TEST(Roofline, WhatAKernelReachedCanBeReached) {
  Ceilings ceilings{.flops_per_s = 1e9, .levels = {{8e3, 10e9}, {0, 1e9}}};
  ceilings.raise_to(2e3, 9e3, 1e-6);
  EXPECT_EQ(ceilings, (Ceilings{.flops_per_s = 2e9, .levels = {{8e3, 10e9}, {0, 1e9}}}));
  ceilings.raise_to(0, 10e3, 1e-6);
  EXPECT_DOUBLE_EQ(roofline(0, 10e3, {}, {}, ceilings).seconds(), 1e-6);
  ceilings.raise_to(1, 1, 0);
  EXPECT_EQ(ceilings.flops_per_s, 2e9);
}

// Every second pixel of every second row of images of 64 channels, a quarter; but whole sectors where
// a pixel is less than one. All rows that positions may name.
TEST(Roofline, MemoryMovesWhatIsTouched) {
  const auto bytes = [](int channels) {
    return touched_bytes(poly::Group{nest::parse_nest(fmt::format(
        R"(nest map {{
          index y 4, x 4, c {0}
          slot 0 f16 {1}, 1 f16 {1}
          acc f16 = assign
          out 0 + 0 [2*y:8*{2}, 2*x:8*{0}, c:{0}*1]
          extra 1 + 0 [2*y:8*{2}, 2*x:8*{0}, c:{0}*1]
          post $0
        }})",
        channels, 64 * channels, 8 * channels))});
  };
  EXPECT_EQ(bytes(64), 2 * 2.0 * 64 * 16);
  EXPECT_EQ(bytes(4), 2 * 2.0 * 4 * 32);
  EXPECT_EQ(touched_bytes(nest::parse_nest(R"(nest pick {
    index p 16, c 8 | t 2
    slot 0 f32 96, 1 i32 32, 2 f32 128
    acc f32 = sum pick
    in 0 + 0 [$1:12?*8, c:8*1]
    in 1 + 0 [p:16*2, t:2*1]
    out 2 + 0 [p:16*8, c:8*1]
    post acc
  })")),
            4.0 * (96 + 32 + 128));
}

// An H200 of 132 multiprocessors at 1.98 GHz: 989 TFLOP/s at 1.83 GHz as NVIDIA states them.
TEST(Roofline, MatrixInstructionsHaveThePeakOfTheirType) {
  Target target;
  target.rates.matrix_half_ops_per_cycle = 4096;
  target.vector_f32 = 128;
  target.compute_units = 132;
  target.gflops_per_unit = 507;
  const auto peak = [&](const char *op) {
    schedule::Schedule schedule;
    schedule.core.op = find_core_op(op);
    return 1 / roofline(1, 0, schedule, target).arithmetic;
  };
  EXPECT_NEAR(peak("m16n8k16.f16.f32"), 1070e12, 5e12);
  EXPECT_DOUBLE_EQ(peak("m16n8k32.s8.s32"), 2 * peak("m16n8k16.bf16.f32"));
  EXPECT_DOUBLE_EQ(peak("m16n8k8.tf32.f32") * 2, peak("m16n8k16.f16.f32"));
}

} // namespace
} // namespace tilefuse::cost
