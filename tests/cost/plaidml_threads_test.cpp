// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <random>

#include <gtest/gtest.h>

#include "cost/plaidml/plaidml_threads.h"
#include "plaidml_fixture.h"

namespace tilefuse::cost::plaidml {
namespace {

using test::flat_of;
using test::kTestGpu;

std::vector<std::int64_t> threads_of(const OutputPlan &plan) {
  std::vector<std::int64_t> threads;
  for (const OutputIndex &index : plan.indices)
    threads.push_back(index.threads);
  return threads;
}

TEST(PlaidmlThreads, TheFastestIndexGetsALineThenTheRestIsDealt) {
  // Rows of 64, lines of 8: 8 threads along the row, then the least threaded index first.
  const Flat flat = flat_of({64, 64}, {{64, 1}});
  EXPECT_EQ(threads_of(output_plan(flat, {32, 32}, 256, 8)), (Tile{16, 16}));
  EXPECT_EQ(threads_of(output_plan(flat, {4, 32}, 256, 8)), (Tile{32, 4}));
  EXPECT_EQ(threads_of(output_plan(flat, {1, 4}, 256, 8)), (Tile{4, 1}));
  EXPECT_EQ(threads_of(output_plan(flat, {4, 4}, 1, 8)), (Tile{1, 1}));
  // A line below one element counts as one.
  EXPECT_EQ(threads_of(output_plan(flat, {1, 32}, 2, 0)), (Tile{2, 1}));
}

TEST(PlaidmlThreads, IndicesThatStayEvenAreDoubledFirst) {
  // Scanned first, the 3 rows give way to the 8 that stay even, again and again.
  const Flat flat = flat_of({8, 3, 4}, {{12, 4, 1}});
  EXPECT_EQ(threads_of(output_plan(flat, {8, 3, 4}, 16, 4)), (Tile{4, 1, 4}));
  // Scanned last, they replace a pick that has more threads.
  const Flat swapped = flat_of({3, 8, 4}, {{32, 4, 1}});
  EXPECT_EQ(threads_of(output_plan(swapped, {3, 8, 4}, 16, 4)), (Tile{4, 2, 2}));
  // The row of 5 takes 8 threads: the next power of two.
  const Flat odd = flat_of({5}, {{1}});
  EXPECT_EQ(threads_of(output_plan(odd, {5}, 256, 8)), (Tile{8}));
}

TEST(PlaidmlThreads, EqualStridesTakeTheLaterIndexFirst) {
  const Flat flat = flat_of({1, 4, 4}, {{4, 4, 1}});
  const OutputPlan plan = output_plan(flat, {1, 4, 4}, 16, 4);
  EXPECT_EQ(plan.indices[1].index, 1U);
  EXPECT_EQ(plan.indices[2].index, 0U);
}

TEST(PlaidmlThreads, LinesCountRowsOfStrideOne) {
  const Flat flat = flat_of({64, 64}, {{64, 1}});
  EXPECT_EQ(output_plan(flat, {4, 32}, 256, 8).lines, 16);
  EXPECT_EQ(output_plan(flat, {4, 33}, 256, 8).lines, 20);
  EXPECT_EQ(output_plan(flat, {4, 3}, 256, 8).lines, 4);
  EXPECT_EQ(output_plan(flat_of({64, 64}, {{128, 2}}), {4, 32}, 256, 8).lines, 128);
}

TEST(PlaidmlThreads, GroupsThatAreNoPowersOfTwoArePlacedFirst) {
  // Groups 7, 32, 112, 112 and 8: 7, 112, 112 go to dimensions of their own, 8 to the smallest.
  const Flat flat = flat_of({7, 32, 112, 112, 8}, {{1, 7, 224, 25088, 2809856}});
  const OutputPlan plan = output_plan(flat, {1, 1, 1, 1, 1}, 256, 8);
  EXPECT_EQ(plan.grid, (std::array<std::int64_t, 3>{7 * 8 * 32, 112, 112}));
  EXPECT_EQ(output_plan(flat, {7, 32, 112, 112, 8}, 256, 8).grid,
            (std::array<std::int64_t, 3>{1, 1, 1}));
}

// PlaidML's own test of a product of matrices whose rows and columns overlap (strides 4 and 4).
TEST(PlaidmlThreads, LeftOverThreadsSumParts) {
  const Flat flat = flat_of({4, 4, 4}, {{4, 1, 0}, {4, 0, 4}, {0, 4, 4}});
  const ThreadPlan plan = thread_plan(flat, {4, 4, 4}, kTestGpu);
  EXPECT_EQ(plan.threads, 64);
  EXPECT_EQ(threads_of(plan.output), (Tile{4, 4}));
  ASSERT_EQ(plan.reduction.size(), 1U);
  EXPECT_EQ(plan.reduction[0].threads, 4);
  EXPECT_EQ(plan.merge_steps, 2); // 64 -> 32 -> 16
  ASSERT_EQ(plan.loads.size(), 2U);
  EXPECT_EQ(plan.loads[0].at(0).points, 7);
  EXPECT_EQ(plan.loads[0].at(0).threads, 8);
}

TEST(PlaidmlThreads, SmallKernelsHaveSmallGroups) {
  EXPECT_EQ(thread_plan(flat_of({3, 5}, {{5, 1}}), {3, 5}, kTestGpu).threads, 16);
  EXPECT_EQ(thread_plan(flat_of({}, {{}}), {}, kTestGpu).threads, 1);
}

TEST(PlaidmlThreads, UnevenIndicesAreOuterLoops) {
  EXPECT_EQ(unevenness(64, 32, 8), 0);
  EXPECT_EQ(unevenness(64, 32, 3), 1);
  EXPECT_EQ(unevenness(65, 32, 8), 2);
  EXPECT_EQ(unevenness(65, 32, 3), 3);
  const Flat flat = flat_of({7, 8, 9}, {{72, 9, 1}});
  const ThreadPlan plan = thread_plan(flat, {4, 8, 9}, kTestGpu);
  std::vector<std::size_t> order;
  for (const std::size_t k : plan.loop_order)
    order.push_back(plan.output.indices[k].index);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 2, 1})); // 7 over 4; 9 in 16 threads; 8
}

TEST(PlaidmlThreads, RandomPlans) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> size(1, 40);
  std::uniform_int_distribution<int> rank(1, 5);
  std::uniform_int_distribution<int> power(0, 8);
  for (int round = 0; round < 1000; ++round) {
    Tile ranges;
    Tile tile;
    Tile strides;
    std::int64_t stride = 1;
    for (int i = rank(random); i > 0; --i) {
      ranges.push_back(size(random));
      tile.push_back(std::min(ranges.back(), size(random)));
      strides.push_back(stride);
      stride *= ranges.back();
    }
    const std::int64_t threads = std::int64_t{1} << power(random);
    const OutputPlan plan = output_plan(flat_of(ranges, {strides}), tile, threads, 8);
    std::int64_t groups = 1;
    std::int64_t registers = 1;
    for (const OutputIndex &index : plan.indices) {
      EXPECT_TRUE(std::has_single_bit(static_cast<std::uint64_t>(index.threads)));
      EXPECT_LT(index.threads, 2 * index.tile); // none is doubled past its tile
      EXPECT_EQ(index.groups, (ranges[index.index] + index.tile - 1) / index.tile);
      groups *= index.groups;
      registers *= (index.tile + index.threads - 1) / index.threads;
    }
    EXPECT_LE(plan.threads(), threads);
    EXPECT_EQ(plan.accumulators, registers);
    EXPECT_EQ(plan.grid[0] * plan.grid[1] * plan.grid[2], groups);
    // Threads are left over only where no index can use them, and then each has one result.
    if (plan.threads() < threads) {
      EXPECT_EQ(registers, 1);
    }
  }
}

} // namespace
} // namespace tilefuse::cost::plaidml
