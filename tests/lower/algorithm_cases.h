// SPDX-License-Identifier: Apache-2.0
// Convolutions that break careless kernels, and the targets that named algorithms are tested for.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "lower/random_nests.h"
#include "schedule/legal.h"
#include "schedule/text.h"
#include "target/rows.h"

namespace tilefuse::testing {

inline Target vector_test_target() {
  return {.name = "test_vector",
          .backend = "llvm",
          .lanes = LaneKind::Vector,
          .vector_f32 = 8,
          .local_bytes = 1 << 20,
          .features = {Feature::PrefetchHints}};
}

inline Target group_test_target() {
  return with_row({.name = "test_groups",
                   .backend = "opencl",
                   .isa = "CL1.2 sm_80",
                   .lanes = LaneKind::WorkItem,
                   .vector_f32 = 128,
                   .vector_registers = 255,
                   .max_group = 1024,
                   .local_bytes = 48 << 10,
                   .local_is_hw = true},
                  "opencl_nvidia");
}

inline Target matrix_test_target() {
  Target target = group_test_target();
  target.name = "test_matrix";
  target.backend = "cuda";
  target.warp = 32;
  target.local_bytes = 160 << 10;
  return with_row(target, "cuda_sm80");
}

// 7x7, 14x14, primes, strides, dilation, asymmetric padding, groups, few channels, two images.
inline std::vector<ConvShape> awkward_shapes() {
  return {
      {.outputs = 16, .inputs = 8},
      {.outputs = 24, .inputs = 16, .height = 14, .width = 14},
      {.images = 2, .outputs = 13, .inputs = 11, .height = 11, .width = 13},
      {.outputs = 8, .inputs = 12, .height = 15, .width = 9, .stride = 2},
      {.outputs = 5, .inputs = 4, .height = 17, .width = 10, .stride = 3, .after = 2},
      {.outputs = 8, .inputs = 4, .height = 13, .width = 13, .dilation = 2, .before = 2},
      {.outputs = 8, .inputs = 6, .before = 0, .after = 2, .channels_last = false},
      {.images = 2, .groups = 2, .outputs = 6, .inputs = 4, .channels_last = false},
      {.groups = 3, .outputs = 4, .inputs = 8, .height = 9, .width = 5, .stride = 2},
      {.outputs = 16,
       .inputs = 3,
       .height = 23,
       .width = 23,
       .kernel = 7,
       .stride = 2,
       .before = 3},
      {.outputs = 4, .inputs = 1, .height = 9, .width = 9, .channels_last = false},
      {.outputs = 32, .inputs = 24, .kernel = 1, .before = 0, .after = 0},
      {.images = 2, .outputs = 17, .inputs = 19, .kernel = 1, .stride = 2, .before = 0, .after = 0},
      {.images = 2, .groups = 12, .outputs = 1, .inputs = 1, .height = 9},
      {.groups = 5, .outputs = 1, .inputs = 1, .stride = 2, .channels_last = false},
      {.outputs = 1, .inputs = 5, .height = 1, .width = 1},
  };
}

// Depthwise convolutions with several filters a channel.
inline std::vector<ConvShape> shapes_of_several_filters() {
  return {
      {.images = 2, .groups = 8, .outputs = 2, .inputs = 1, .height = 9, .stride = 2},
      {.groups = 6, .outputs = 3, .inputs = 1, .channels_last = false},
  };
}

// A 3x3 convolution with padding, of sizes that no tile divides.
inline nest::Nest padded_conv() {
  return nest::parse_nest(R"(nest conv {
    index n 1, y 5, x 7, m 24 | c 12, r 3, s 3
    slot 0 f32 420, 1 f32 2592, 2 f32 840
    acc f32 = sum mul
    in 0 + 0 [n:1*420, y + r - 1:5?*84, x + s - 1:7?*12, c:12*1]
    in 1 + 0 const [m:24*108, c:12*9, r:3*3, s:3*1]
    out 2 + 0 [n:1*840, y:5*168, x:7*24, m:24*1]
    post acc
  })");
}

// The schedule is legal, reads back, and computes what the nest evaluator does, in the simulator.
inline void expect_exact(const nest::Nest &nest, const schedule::Schedule &schedule,
                         const Target &target) {
  SCOPED_TRACE(nest::to_text(nest) + schedule::to_text(nest, schedule));
  ASSERT_EQ(schedule::illegal(nest, schedule, target), std::nullopt);
  ASSERT_EQ(schedule::parse_schedule(nest, schedule::to_text(nest, schedule)), schedule);
  Random random(3);
  const auto slots = integer_slots(random, nest);
  EXPECT_EQ(simulated(nest, schedule, target, slots), evaluated(nest, slots));
}

} // namespace tilefuse::testing
