// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster run together: slices that each copies to all, arrivals at each other's
// mbarriers, and what is a fault.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernel/simulate_run.h"
#include "kernel/text/text.h"

namespace tilefuse::kernel {
namespace {

using testing::Arguments;

// Two blocks copy 8 rows each to both, wait for all 16, and say so to each other.
struct Exchange {
  std::string begin = "barrier cluster";
  std::string ranks = "ranks 3";
  std::string end = "barrier cluster";
  std::string at = "block % 2 * 512";

  std::string text() const {
    return fmt::format(R"(kernel exchange blocks 4 cluster 2 block_size 32 {{
      global const x f16[1024]
      global y f16[64]
      local s f16[1024]
      local bars i64[2]
      tensor_map t = x + 0 dims [64, 16] strides [1, 64] box [64, 8] swizzle 128
      if lane == 0 {{ mbarrier_init bars[0] 1 mbarrier_init bars[1] 1 }}
      {}
      if lane == 0 {{
        mbarrier_expect bars[0] 2048
        tensor_copy s[{}] = t[0, block % 2 * 8] signals bars[0] {}
      }}
      mbarrier_wait bars[0] 0
      if lane < 16 {{ y[block * 16 + lane] = s[lane / 8 * 512 + lane % 8] }}
      if lane == 0 {{ mbarrier_arrive bars[1] rank 1 - block % 2 }}
      {}
    }})",
                       begin, at, ranks, end);
  }
};

void expect_fault(const Exchange &exchange, const std::string &fault) {
  const std::string found = testing::fault_of(exchange.text());
  EXPECT_NE(found.find(fault), std::string::npos) << found;
}

TEST(SimulateCluster, SlicesReachAllBlocks) {
  const Kernel kernel = parse_kernel(Exchange{}.text());
  EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
  Arguments args(kernel);
  const Counts counts = simulate(kernel, args.spans);
  EXPECT_EQ(counts.blocks, 4);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(load_element(args.data[1].data(), DType::F16, i),
              load_element(args.data[0].data(), DType::F16, i % 16 / 8 * 512 + i % 8));
}

TEST(SimulateCluster, WhatIsAFault) {
  expect_fault(
      {.begin = "barrier"},
      "block 0, lane 0: mbarrier bars[0] is used with no barrier after its initialisation");
  expect_fault({.end = ""}, "block 1, lane 0: comes to the block of rank 0, which may have ended");
  expect_fault(
      {.ranks = "ranks 1 + block % 2"},
      "block 0, lane 0: waits for mbarrier bars[0], which lacks 0 arrivals and 1024 bytes");
  expect_fault({.ranks = "ranks 3 + block"},
               "block 1, lane 0: tensor_copy to ranks 0b100 of a cluster of 2");
  expect_fault({.at = "0"}, "block 1, lane 0: s[0] is touched before the wait for the asynchronous "
                            "copy of lane 0");
}

// Each of four blocks writes its number and adds up those of all, in order.
std::string summing(const std::string &wait, const std::string &rank, const std::string &end) {
  return fmt::format(R"(kernel summing blocks 4 cluster 4 block_size 32 {{
    global y i32[128]
    local s i32[32]
    local bars i64[1]
    if lane == 0 {{ mbarrier_init bars[0] 4 }}
    barrier cluster
    s[lane] = block + 1
    barrier warp
    if lane < 4 {{ mbarrier_arrive bars[0] rank lane cluster }}
    {}
    y[block * 32 + lane] = s[lane rank 0] + s[lane rank 1] + s[lane rank 2] + s[lane rank {}]
    {}
  }})",
                     wait, rank, end);
}

TEST(SimulateCluster, BlocksReadEachOther) {
  const std::string wait = "mbarrier_wait bars[0] 0 cluster";
  const std::string end = "barrier cluster";
  const Kernel kernel = parse_kernel(summing(wait, "3", end));
  EXPECT_EQ(to_text(parse_kernel(to_text(kernel))), to_text(kernel));
  Arguments args(kernel);
  simulate(kernel, args.spans);
  for (int i = 0; i < 128; ++i)
    EXPECT_EQ(load_element(args.data[0].data(), DType::I32, i), 10);
  const auto expect = [](const std::string &text, const std::string &fault) {
    const std::string found = testing::fault_of(text);
    EXPECT_NE(found.find(fault), std::string::npos) << found;
  };
  expect(summing("", "3", end),
         "block 0, lane 0: s[0] is read with no barrier after the write of lane 0");
  expect(summing(wait, "3", ""), "comes to the block of rank 0, which may have ended");
  expect(summing(wait, "block + lane", end), "block 3, lane 1: reads of rank 4 of a cluster of 4");
  expect(summing(wait, "3", "s[lane] = 0 barrier cluster"),
         "s[0] is read with no barrier after the write of lane 0");
}

TEST(SimulateCluster, TextOfMistakes) {
  const auto mistake = [](const std::string &shape, const std::string &stmt) {
    try {
      parse_kernel("kernel k " + shape + " block_size 32 { local bars i64[2] " + stmt + " }");
    } catch (const Error &error) {
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(mistake("blocks 3 cluster 2", ""),
            "a cluster needs 1 to 8 blocks that divide the kernel's 3; got 2");
  EXPECT_EQ(mistake("blocks 16 cluster 16", ""),
            "a cluster needs 1 to 8 blocks that divide the kernel's 16; got 16");
  EXPECT_EQ(mistake("blocks 2", "barrier cluster"),
            "the barrier of a cluster needs one of several blocks");
  EXPECT_EQ(mistake("blocks 2", "mbarrier_arrive bars[0] rank 0"),
            "the rank of an mbarrier needs a cluster of several blocks");
  EXPECT_EQ(mistake("blocks 2 cluster 2", "mbarrier_arrive bars[0] rank 2"),
            "the rank of an mbarrier needs i32 from 0 to 1");
  EXPECT_EQ(mistake("blocks 2 cluster 2", "mbarrier_wait bars[0] 0 rank 1"),
            "a rank of a block is for arriving at its mbarrier");
  EXPECT_EQ(mistake("blocks 2", "mbarrier_wait bars[0] 0 cluster"),
            "only an arrival and a wait order what blocks of a cluster do");
  EXPECT_EQ(mistake("blocks 2 cluster 2", "mbarrier_init bars[0] 1 cluster"),
            "only an arrival and a wait order what blocks of a cluster do");
  EXPECT_EQ(mistake("blocks 2", "bars[0] = bars[1 rank 0]"),
            "the rank of a load needs a cluster of several blocks");
  EXPECT_EQ(mistake("blocks 2 cluster 2", "bars[0] = bars[1 rank 2]"),
            "the rank of a load needs i32 from 0 to 1");
  EXPECT_EQ(mistake("blocks 2 cluster 2", "barrier cluster mbarrier_arrive bars[0] rank 1"),
            "none");
}

} // namespace
} // namespace tilefuse::kernel
