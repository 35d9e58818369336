// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cost/plaidml/plaidml_search.h"
#include "cost/plaidml/plaidml_stats.h"
#include "plaidml_fixture.h"

namespace tilefuse::cost::plaidml {
namespace {

using test::flat_of;
using test::kTestGpu;

// O[a, b] = +(A[a, c] * B[c, b]), 64 x 64 x 64.
Flat matmul() { return flat_of({64, 64, 64}, {{64, 1, 0}, {64, 0, 1}, {0, 1, 64}}); }

TEST(PlaidmlStats, Matmul) {
  const Stats stats = statistics(matmul(), {16, 32, 8}, kTestGpu);
  EXPECT_EQ(stats.true_ops, 2 * 64 * 64 * 64);
  EXPECT_EQ(stats.work_groups, 4 * 2);
  EXPECT_EQ(stats.inner_loops, 8);
  // A: 8 x 16 elements as 16 | 8 -> 1, 17, size 17 * 8 = 136; B: 32 | 8 -> 33 * 8 = 264.
  EXPECT_EQ(stats.shared_mem, 4 * (136 + 264));
  EXPECT_EQ(stats.out_regs, 4 * 16 * 32);
  EXPECT_EQ(stats.mem_read, 32 * (8 * 16 / 8 + 8 * 32 / 8));
  EXPECT_EQ(stats.mem_write, 32 * 16 * 32 / 8);
  EXPECT_EQ(stats.operations, 256);
  EXPECT_EQ(stats.rollups, 0);
  EXPECT_EQ(stats.threads_used, 256);
}

TEST(PlaidmlStats, ResultTilesSmallerThanTheGroupAreMergedInSharedMemory) {
  const Stats stats = statistics(matmul(), {2, 4, 16}, kTestGpu);
  EXPECT_EQ(stats.operations, 128); // of 256 threads, the tile has 128 points
  EXPECT_EQ(stats.rollups, 4);      // 8, 16, 32, 64, 128
  EXPECT_EQ(stats.threads_used, 128);
  // A: 16 | 2 -> 17 * 2; B: 16 | 4 -> 17 * 4; and one result per thread of the device's group.
  EXPECT_EQ(stats.shared_mem, 4 * (34 + 68 + 256));
  EXPECT_EQ(stats.out_regs, 4 * 256);
  const Stats one = statistics(matmul(), {1, 1, 1}, kTestGpu);
  EXPECT_EQ(one.operations, 1);
  EXPECT_EQ(one.rollups, 0);
  EXPECT_EQ(one.shared_mem, 4 * 2);
  // A tile of three results takes two doublings to reach eight.
  EXPECT_EQ(statistics(matmul(), {1, 3, 3}, kTestGpu).rollups, 2); // 3, 6, 12 >= 9
}

TEST(PlaidmlStats, ThreadsDealtToResultsCanExceedThePoints) {
  const Flat flat = flat_of({5, 1}, {{1, 0}, {1, 1}});
  const Stats stats = statistics(flat, {5, 1}, kTestGpu);
  EXPECT_EQ(stats.operations, 5);
  EXPECT_EQ(stats.threads_used, 8);
}

TEST(PlaidmlStats, EdgeTilesCountAsGroupsButNotAsOperations) {
  const Flat flat = flat_of({65, 64, 63}, {{64, 1, 0}, {63, 0, 1}, {0, 1, 64}});
  const Stats stats = statistics(flat, {64, 64, 32}, kTestGpu);
  EXPECT_EQ(stats.true_ops, 2 * 65 * 64 * 63);
  EXPECT_EQ(stats.work_groups, 2);
  EXPECT_EQ(stats.inner_loops, 2);
}

TEST(PlaidmlStats, PostInputsAreReadInEveryInnerLoopByLines) {
  Flat flat = matmul();
  const Stats before = statistics(flat, {16, 33, 8}, kTestGpu);
  flat.post_inputs = {flat.accesses[0], flat.accesses[0]};
  flat.post_inputs[0].element_bytes = 2;
  flat.post_ops = 3;
  const Stats after = statistics(flat, {16, 33, 8}, kTestGpu);
  const std::int64_t lines = 16 * 5; // 33 elements of a row touch 5 lines of 8
  EXPECT_EQ(after.mem_read, before.mem_read + lines * 2 + lines * 4);
  EXPECT_EQ(after.true_ops, before.true_ops / 2 * 5);
  EXPECT_EQ(after.mem_write, before.mem_write);
}

TEST(PlaidmlStats, EveryResultIsWritten) {
  Flat flat = matmul();
  const Stats one = statistics(flat, {16, 32, 8}, kTestGpu);
  flat.kernel_outputs = 3;
  EXPECT_EQ(statistics(flat, {16, 32, 8}, kTestGpu).mem_write, 3 * one.mem_write);
}

TEST(PlaidmlStats, InputsReadInPlaceTakeNoSharedMemory) {
  cost::plaidml::Settings settings = kTestGpu;
  settings.use_global = true;
  EXPECT_EQ(statistics(matmul(), {16, 32, 8}, settings).shared_mem, 0);
  EXPECT_EQ(statistics(matmul(), {2, 4, 16}, settings).shared_mem, 4 * 256);
}

TEST(PlaidmlStats, ElementWiseKernelsReadOnlyPostInputs) {
  Flat flat = flat_of({4096}, {{1}});
  flat.post_inputs = {flat.accesses[0]};
  flat.post_ops = 2;
  const Stats stats = statistics(flat, {1024}, kTestGpu);
  EXPECT_EQ(stats.true_ops, 2 * 4096);
  EXPECT_EQ(stats.inner_loops, 1);
  EXPECT_EQ(stats.shared_mem, 0);
  EXPECT_EQ(stats.mem_read, 128 * 4);
  EXPECT_EQ(stats.mem_write, 128 * 32);
  EXPECT_EQ(stats.out_regs, 4096);
}

TEST(PlaidmlStats, VectorsCountAsElements) {
  Flat flat = matmul();
  const Stats narrow = statistics(flat, {16, 32, 8}, kTestGpu);
  cost::plaidml::Settings settings = kTestGpu;
  settings.vec_size = 4;
  for (const std::size_t a : {0U, 2U}) {
    flat.accesses[a].vector = 4;
    for (std::int64_t &stride : flat.accesses[a].strides)
      stride = stride == 1 ? 1 : stride / 4;
  }
  flat.ranges[1] = 16;
  const Stats wide = statistics(flat, {16, 8, 8}, settings);
  EXPECT_EQ(wide.true_ops, narrow.true_ops);
  EXPECT_EQ(wide.mem_write, narrow.mem_write);
  EXPECT_EQ(wide.out_regs, 16 * 256); // 128 vectors of 16 bytes in 256 threads
}

TEST(PlaidmlStats, LinesTooShortForAnElementAreAnError) {
  cost::plaidml::Settings settings = kTestGpu;
  settings.mem_width = 8;
  Flat flat = matmul();
  flat.accesses[1].vector = 4;
  EXPECT_THROW(statistics(flat, {1, 1, 1}, settings), Error);
}

// Steps `point` through multiples of `step` below `ranges`; false after the last.
bool next(Tile &point, const Tile &step, const Tile &ranges) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    point[i] += step[i];
    if (point[i] < ranges[i])
      return true;
    point[i] = 0;
  }
  return false;
}

// Groups, inner loops, operations and lines, counted one by one.
TEST(PlaidmlStats, RandomKernelsCountedByEnumeration) {
  std::mt19937 random(17);
  std::uniform_int_distribution<std::int64_t> size(1, 9);
  for (int round = 0; round < 200; ++round) {
    const Tile ranges = {size(random), size(random), size(random), size(random)};
    Tile tile;
    for (const std::int64_t range : ranges)
      tile.push_back(std::min(range, size(random)));
    // O[a, c] over rows that are one element apart; b and d are reduced.
    const Flat flat = flat_of(ranges, {{ranges[2] + 1, 0, 1, 0}, {1, 9, 0, 81}, {0, 0, 1, 9}});
    const Stats stats = statistics(flat, tile, kTestGpu);
    std::set<std::pair<std::int64_t, std::int64_t>> groups;
    std::int64_t loops = 0;
    Tile origin(4, 0);
    do {
      groups.emplace(origin[0], origin[2]);
      ++loops;
    } while (next(origin, tile, ranges));
    EXPECT_EQ(stats.work_groups, static_cast<std::int64_t>(groups.size()));
    EXPECT_EQ(stats.inner_loops * stats.work_groups, loops);
    std::int64_t points = 0;
    Tile point(4, 0);
    do
      ++points;
    while (next(point, {1, 1, 1, 1}, ranges));
    EXPECT_EQ(stats.true_ops, 2 * points);
    std::set<std::pair<std::int64_t, std::int64_t>> lines; // rows of lines of 8 elements
    for (std::int64_t a = 0; a < tile[0]; ++a)
      for (std::int64_t c = 0; c < tile[2]; ++c)
        lines.emplace(a, c / 8);
    EXPECT_EQ(stats.mem_write, 32 * static_cast<std::int64_t>(lines.size()));
    const std::int64_t results = tile[0] * tile[2];
    EXPECT_GE(results << stats.rollups, stats.operations);
    if (stats.rollups > 0) {
      EXPECT_LT(results << (stats.rollups - 1), stats.operations);
    }
    EXPECT_GE(stats.threads_used, stats.operations);
    EXPECT_LE(stats.threads_used, 256);
  }
}

TEST(PlaidmlScore, MemoryIsTestedBeforeRegisters) {
  const Stats both{.work_groups = 1, .shared_mem = 18433, .out_regs = 18433};
  EXPECT_EQ(score(both, kTestGpu).verdict, Verdict::OverMemory);
  EXPECT_EQ(score(both, kTestGpu).score, -1);
  Stats fits = both;
  fits.shared_mem = 18432;
  EXPECT_EQ(score(fits, kTestGpu).verdict, Verdict::OverRegs);
  fits.out_regs = 18432;
  EXPECT_EQ(score(fits, kTestGpu).verdict, Verdict::Fits);
}

TEST(PlaidmlScore, IsTheProductOfThreeSaturatingShares) {
  const Stats stats{.true_ops = 8000,
                    .work_groups = 10,
                    .inner_loops = 4,
                    .mem_read = 10,
                    .mem_write = 40,
                    .threads_used = 64};
  const Score result = score(stats, kTestGpu);
  EXPECT_EQ(result.flops_per_byte, 10);
  EXPECT_EQ(result.occupancy, 10);
  EXPECT_EQ(result.score, 0.5 * 0.5 * 0.25);
  Stats more = stats;
  more.true_ops *= 100;
  more.work_groups *= 10;
  EXPECT_EQ(score(more, kTestGpu).roof_ratio, 1);
  EXPECT_EQ(score(more, kTestGpu).occ_ratio, 1);
}

// Every tile that doubling can reach, by definition.
std::set<Tile> reachable(const Flat &flat, const cost::plaidml::Settings &settings) {
  std::set<Tile> seen;
  std::vector<Tile> open = {Tile(flat.rank(), 1)};
  seen.insert(open.front());
  while (!open.empty()) {
    const Tile tile = open.back();
    open.pop_back();
    const bool first = tile == Tile(flat.rank(), 1);
    if (!first && score(statistics(flat, tile, settings), settings).score <= 0)
      continue;
    for (std::size_t i = 0; i < tile.size(); ++i) {
      Tile next = tile;
      next[i] = std::min(flat.ranges[i], 2 * tile[i]);
      if (seen.insert(next).second)
        open.push_back(next);
    }
  }
  return seen;
}

TEST(PlaidmlSearch, TheFullWalkVisitsWhatDoublingReaches) {
  std::mt19937 random(3);
  std::uniform_int_distribution<std::int64_t> size(1, 70);
  for (int round = 0; round < 30; ++round) {
    const std::int64_t m = size(random);
    const std::int64_t n = size(random);
    const std::int64_t k = size(random);
    const Flat flat = flat_of({m, n, k}, {{n, 1, 0}, {k, 0, 1}, {0, 1, n}});
    const Search full = search(flat, kTestGpu, Walk::Full);
    std::set<Tile> visited;
    for (const Visit &visit : full.visits)
      EXPECT_TRUE(visited.insert(visit.tile).second) << to_text(visit.tile);
    EXPECT_EQ(visited, reachable(flat, kTestGpu));
    const Search fast = search(flat, kTestGpu, Walk::Fast);
    EXPECT_LE(fast.visits[fast.best].score.score, full.visits[full.best].score.score);
    EXPECT_TRUE(std::equal(fast.visits.begin(), fast.visits.end(), full.visits.begin(),
                           [](const Visit &a, const Visit &b) { return a.tile == b.tile; }));
  }
}

TEST(PlaidmlSearch, RangesThatAreNoPowersOfTwoAreReachedWhole) {
  const Search full = search(flat_of({7}, {{1}, {1}}), kTestGpu, Walk::Full);
  std::set<Tile> visited;
  for (const Visit &visit : full.visits)
    visited.insert(visit.tile);
  EXPECT_EQ(visited, (std::set<Tile>{{1}, {2}, {4}, {7}}));
}

TEST(PlaidmlSearch, TheLastOfEqualScoresWins) {
  const Search search =
      evaluate(matmul(), kTestGpu, {{1, 1, 1}, {16, 32, 8}, {16, 32, 8}, {1, 1, 1}});
  EXPECT_EQ(search.best, 2U);
  EXPECT_EQ(search.ties, 2U);
}

TEST(PlaidmlSearch, KernelsWithoutIndicesHaveOneTile) {
  Flat flat = flat_of({}, {{}});
  flat.post_ops = 1;
  const Search result = search(flat, kTestGpu, Walk::Fast);
  EXPECT_EQ(result.visits.size(), 1U);
  EXPECT_EQ(result.visits[0].stats.work_groups, 1);
  EXPECT_EQ(result.visits[0].stats.mem_write, 32);
}

// The fast walk ends at a popped tile without new neighbours when all that is pending is worse;
// until then the last neighbour's score decides. Replayed from the visits alone.
TEST(PlaidmlSearch, TheFastWalkStopsByTheLastScoreComputed) {
  const Flat flat = flat_of({64, 64, 64}, {{64, 1, 0}, {64, 0, 1}, {0, 1, 64}});
  const Search fast = search(flat, kTestGpu, Walk::Fast);
  std::set<std::pair<double, Tile>> pending = {{fast.visits[0].score.score, fast.visits[0].tile}};
  std::set<Tile> seen = {fast.visits[0].tile};
  double last = fast.visits[0].score.score;
  std::size_t at = 1;
  while (!pending.empty() && pending.rbegin()->first >= last) {
    const auto [score, tile] = *pending.rbegin();
    pending.erase(std::prev(pending.end()));
    last = score;
    for (std::size_t i = 0; i < 3; ++i) {
      Tile next = tile;
      next[i] = std::min<std::int64_t>(64, 2 * tile[i]);
      if (!seen.insert(next).second)
        continue;
      ASSERT_LT(at, fast.visits.size());
      ASSERT_EQ(fast.visits[at].tile, next);
      last = fast.visits[at++].score.score;
      if (last > 0)
        pending.emplace(last, next);
    }
  }
  EXPECT_EQ(at, fast.visits.size());
}

} // namespace
} // namespace tilefuse::cost::plaidml
