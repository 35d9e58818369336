// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.h"

#include <gtest/gtest.h>

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

// An H200 of 132 multiprocessors at 1.98 GHz: 989 TFLOP/s at 1.83 GHz as NVIDIA states them.
TEST(Roofline, MatrixInstructionsHaveThePeakOfTheirType) {
  Target target;
  target.isa = "sm_90a";
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
