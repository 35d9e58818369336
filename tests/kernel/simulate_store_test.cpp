// SPDX-License-Identifier: Apache-2.0
// Tensor stores: a box leaves local memory on its own, until waited for; what is a fault.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/simulate_run.h"
#include "kernel/text.h"

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
  EXPECT_NE(mistake("tensor_store u[0, 0] = s[0]").find("a tiled map of a buffer that is written"),
            std::string::npos);
  EXPECT_NE(mistake("tensor_store t[0] = s[0]").find("needs 2 coordinates of i32"),
            std::string::npos);
}

} // namespace
} // namespace tilefuse::kernel
