// SPDX-License-Identifier: Apache-2.0
// Tensor stores: a box leaves local memory on its own, until waited for; what is a fault.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/simulate_run.h"
#include "kernel/text/text.h"

namespace tilefuse::kernel {
namespace {

using testing::Arguments;

// Two rounds of a warp: 16 rows of 16 numbers into a buffer, swizzled, and off to 20 rows of a
// result.
struct Stores {
  std::string fence = "store_fence";
  std::string barrier = "barrier warp";
  std::string commit = "store_commit";
  std::string wait = "store_wait 0";
  std::string end = "store_wait 0";
  std::string from = "s[0]";

  std::string text() const {
    return fmt::format(R"(kernel stores blocks 1 block_size 32 {{
      global y f16[320]
      local s f16[512]
      tensor_map t = y + 0 dims [16, 20] strides [1, 16] box [16, 16] swizzle 32
      for round in 0..2 {{
        if lane == 0 {{ {4} }}
        barrier warp
        for c in 0..8 {{
          s[lane / 2 * 16 + bit_xor(lane % 2, lane / 8 % 2) * 8 + c] = f16(f32(round * 256 + lane * 8 + c))
        }}
        {0}
        {1}
        if lane == 0 {{ tensor_store t[0, round * 16] = {3} {2} }}
      }}
      if lane == 0 {{ {5} }}
    }})",
                       fence, barrier, commit, from, wait, end);
  }
};

void expect_fault(const Stores &stores, const std::string &fault) {
  const std::string found = testing::fault_of(stores.text());
  EXPECT_NE(found.find(fault), std::string::npos) << found;
}

TEST(SimulateStore, BoxesArriveWithoutWhatLiesOutside) {
  const Kernel kernel = parse_kernel(Stores{}.text());
  EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
  Arguments args(kernel);
  simulate(kernel, args.spans);
  for (int i = 0; i < 320; ++i)
    EXPECT_EQ(load_element(args.data[0].data(), DType::F16, i), i);
}

// Points of an image whose rows and images have gaps: of 20 from point 8 on the last 4 are none.
TEST(SimulateStore, ImagesHaveTheirPixelsInOrder) {
  const Kernel kernel = parse_kernel(R"(kernel images blocks 1 block_size 32 {
    global y f16[800]
    local s f16[320]
    tensor_map t = y + 16 dims [16, 3, 2, 4] strides [1, 32, 96, 192] box [16, 20] lower [0, 0] upper [0, 0] steps [1, 1] swizzle 32
    for r in 0..10 {
      s[(r * 32 + lane) / 16 * 16 + bit_xor((r * 32 + lane) / 8 % 2, (r * 32 + lane) / 64 % 2) * 8 + lane % 8] = f16(f32(r * 32 + lane + 1))
    }
    store_fence
    barrier warp
    if lane == 0 { tensor_store t[0, 2, 0, 1] = s[0] store_commit store_wait 0 }
  })");
  EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
  Arguments args(kernel);
  simulate(kernel, args.spans);
  for (int n = 0; n < 4; ++n)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x)
        for (int c = 0; c < 16; ++c) {
          const int point = (n * 2 + y) * 3 + x - 8;
          const int at = 16 + n * 192 + y * 96 + x * 32 + c;
          EXPECT_EQ(load_element(args.data[0].data(), DType::F16, at),
                    point < 0 ? 0 : point * 16 + c + 1)
              << point;
        }
}

TEST(SimulateStore, WhatIsAFault) {
  expect_fault({.fence = ""},
               "s[0] is read beside the warps with no fence after the write of lane 0");
  expect_fault({.barrier = ""}, "s[8] is read with no barrier after the write of lane 1");
  expect_fault({.wait = ""}, "s[0] is written before the wait for the tensor_store that reads it");
  expect_fault({.wait = "store_wait 1"},
               "s[0] is written before the wait for the tensor_store that reads it");
  expect_fault({.commit = ""},
               "s[0] is written before the wait for the tensor_store that reads it");
  expect_fault({.end = ""}, "ends while a tensor_store may still read its local memory");
  expect_fault({.from = "s[16]"}, "tensor_store from s[16] to column 0, which are not aligned");
}

TEST(SimulateStore, TextOfMistakes) {
  const auto mistake = [](const std::string &stmt) -> std::string {
    try {
      parse_kernel("kernel k blocks 1 block_size 32 { global const x f16[256] global y f16[256] "
                   "local s f16[256] tensor_map t = y + 0 dims [16, 16] strides [1, 16] box [16, "
                   "16] swizzle 32 tensor_map u = x + 0 dims [16, 16] strides [1, 16] box [16, 16] "
                   "swizzle 32 " +
                   stmt + " }");
    } catch (const Error &error) {
      return error.message();
    }
    return {};
  };
  EXPECT_NE(mistake("tensor_store u[0, 0] = s[0]").find("a map of a buffer that is written"),
            std::string::npos);
  EXPECT_NE(mistake("tensor_store t[0] = s[0]").find("needs 2 coordinates of i32"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse::kernel
