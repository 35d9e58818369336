// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/index.h"

namespace tilefuse {
namespace {

// Index 0 ends once the other worker, for whom no index is left, has been given something else.
TEST(ThreadPool, WorkersWithoutAnIndexAreCalled) {
  ThreadPool pool(2);
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> idle{0};
    std::atomic<int> done{0};
    pool.parallel_for(
        {.count = 2},
        [&](int, std::int64_t i, std::int64_t) {
          while (i == 0 && idle.load() == 0)
            std::this_thread::yield();
          ++done;
        },
        [&](int) { return ++idle < 1000; });
    EXPECT_EQ(done, 2);
    EXPECT_GT(idle, 0);
  }
}

TEST(ThreadPool, EveryIndexOnceByAWorkerInRange) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::int64_t count : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      pool.parallel_for(count, [&](int worker, std::int64_t i) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        ++seen[at(i)];
      });
      for (const auto &times : seen)
        EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, OneThreadRunsInlineInOrder) {
  ThreadPool pool(1);
  std::vector<std::int64_t> order;
  const auto caller = std::this_thread::get_id();
  pool.parallel_for(4, [&](int, std::int64_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(ThreadPool, OneWorkerNeverRunsTwoIndicesAtOnce) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> inside(4);
  pool.parallel_for(2000, [&](int worker, std::int64_t) {
    EXPECT_EQ(++inside[at(worker)], 1);
    --inside[at(worker)];
  });
}

TEST(ThreadPool, WorkersBeginWithTheirOwnStretch) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  std::vector<std::int64_t> first(2, -1);
  pool.parallel_for(10, [&](int worker, std::int64_t i) {
    if (first[at(worker)] >= 0)
      return;
    first[at(worker)] = i;
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(first, (std::vector<std::int64_t>{0, 5}));
}

TEST(ThreadPool, RunsAreOfSoManyIndices) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int>> seen(100);
    const auto body = [&](int, std::int64_t begin, std::int64_t end) {
      if (threads > 1) {
        EXPECT_EQ(begin % 7, 0);
        EXPECT_EQ(end, std::min<std::int64_t>(begin + 7, 100));
      }
      for (std::int64_t i = begin; i < end; ++i)
        ++seen[at(i)];
    };
    pool.parallel_for({.count = 100, .at_once = 7}, body, nullptr);
    for (const auto &times : seen)
      EXPECT_EQ(times, 1);
  }
}

TEST(ThreadPool, WorkersHelpOnceAwake) {
  ThreadPool pool(2);
  std::atomic<int> arrived{0};
  // Both indices wait for each other: only two threads finish this.
  pool.parallel_for(2, [&](int, std::int64_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolLives) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.parallel_for(100,
                                   [](int, std::int64_t i) {
                                     if (i == 37)
                                       throw std::runtime_error("no");
                                   }),
                 std::runtime_error);
    std::atomic<std::int64_t> sum{0};
    pool.parallel_for(100, [&](int, std::int64_t i) { sum += i; });
    EXPECT_EQ(sum, 4950);
  }
}

TEST(ThreadPool, ManyShortRegions) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> total{0};
  for (int region = 0; region < 3000; ++region) {
    pool.parallel_for(3, [&](int, std::int64_t i) { total += i; });
    if (region % 1000 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(total, 9000);
}

// Workers that wake late find the end of the pool in place of the region.
TEST(ThreadPool, PoolsThatEndRightBehindARegion) {
  std::atomic<std::int64_t> total{0};
  for (int pool = 0; pool < 5000; ++pool)
    ThreadPool(4).parallel_for(8, [&](int, std::int64_t i) { total += i; });
  EXPECT_EQ(total, 5000 * 28);
}

} // namespace
} // namespace tilefuse
