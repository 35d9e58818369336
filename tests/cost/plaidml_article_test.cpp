// SPDX-License-Identifier: Apache-2.0
// Every figure of the article on PlaidML's kernel generation.
#include <gtest/gtest.h>

#include "cost/plaidml/plaidml_layout.h"
#include "cost/plaidml/plaidml_search.h"
#include "cost/plaidml/plaidml_threads.h"
#include "plaidml_fixture.h"

namespace tilefuse::cost::plaidml {
namespace {

using test::article_kernel;
using test::kAmd;
using test::kTestGpu;

const Tile kChosen = {8, 32, 2, 3, 16, 2, 2};

std::string log_of(const Tile &tile) {
  const Stats stats = statistics(article_kernel().flat, tile, kTestGpu);
  return log_text(tile, stats, score(stats, kTestGpu));
}

TEST(PlaidmlArticle, FlatteningTable) {
  const Kernel kernel = article_kernel();
  const Flat &flat = kernel.flat;
  EXPECT_EQ(flat.names, (std::vector<std::string>{"ci", "co", "i", "j", "n", "x", "y"}));
  EXPECT_EQ(flat.ranges, (Tile{64, 64, 3, 3, 32, 224, 224}));
  ASSERT_EQ(flat.accesses.size(), 3U);
  EXPECT_EQ(flat.accesses[0].name, "O");
  EXPECT_EQ(flat.accesses[0].strides, (Tile{0, 1, 0, 0, 3211264, 14336, 64}));
  EXPECT_EQ(flat.accesses[0].offset, 0);
  EXPECT_EQ(flat.accesses[1].name, "D");
  EXPECT_EQ(flat.accesses[1].strides, (Tile{1, 0, 14336, 64, 3211264, 14336, 64}));
  EXPECT_EQ(flat.accesses[1].offset, -14400);
  EXPECT_EQ(flat.accesses[2].name, "K");
  EXPECT_EQ(flat.accesses[2].strides, (Tile{1, 64, 12288, 4096, 0, 0, 0}));
  EXPECT_EQ(flat.accesses[2].offset, 0);
  EXPECT_EQ(kernel.contraction, "O[n, x, y, co : 32, 224, 224, 64] = "
                                "+(D[n, -1 + i + x, -1 + j + y, ci] * K[i, j, co, ci])");
  EXPECT_EQ(kernel.post_ops,
            (std::vector<std::string>{"X_T1 = cmp_gt(O, 0)", "R = cond(X_T1, O, 0)"}));
  EXPECT_EQ(kernel.outputs, (std::vector<std::string>{"R"}));
  // Both sides of 0 <= x + i - 1 < 224 and of 0 <= y + j - 1 < 224.
  EXPECT_EQ(flat.limits, (std::vector<Limit>{{{0, 0, 0, -1, 0, 0, -1}, -1},
                                             {{0, 0, 0, 1, 0, 0, 1}, 224},
                                             {{0, 0, -1, 0, 0, -1, 0}, -1},
                                             {{0, 0, 1, 0, 0, 1, 0}, 224}}));
  EXPECT_EQ(prepare(flat, kTestGpu), flat);
}

TEST(PlaidmlArticle, Log) {
  EXPECT_EQ(log_of({8, 32, 1, 3, 16, 8, 2}),
            "Computing cost for tile size: [8, 32, 1, 3, 16, 8, 2]\n"
            "  Compute score: to=236760072192 wg=12544 il=24 sm=20656 or=32768 mr=19456 mw=32768 "
            "op=256 rp=0 tu=256\n"
            "  over memory\n");
  EXPECT_EQ(log_of({8, 32, 1, 3, 16, 4, 4}),
            "Computing cost for tile size: [8, 32, 1, 3, 16, 4, 4]\n"
            "  Compute score: to=236760072192 wg=12544 il=24 sm=16272 or=32768 mr=15360 mw=32768 "
            "op=256 rp=0 tu=256\n"
            "  over regs\n");
  EXPECT_EQ(log_of({16, 32, 1, 1, 16, 2, 2}),
            "Computing cost for tile size: [16, 32, 1, 1, 16, 2, 2]\n"
            "  Compute score: to=236760072192 wg=50176 il=36 sm=6488 or=8192 mr=6144 mw=8192 "
            "op=256 rp=0 tu=256\n"
            "  flops_per_byte=20.5714 occupancy=20\n"
            "  roof_ratio=1 occ_ratio=1 thread_ratio=1 score=1\n");
  EXPECT_EQ(log_of({8, 32, 2, 1, 16, 2, 2}),
            "Computing cost for tile size: [8, 32, 2, 1, 16, 2, 2]\n"
            "  Compute score: to=236760072192 wg=50176 il=48 sm=5264 or=8192 mr=5120 mw=8192 "
            "op=256 rp=0 tu=256\n"
            "  flops_per_byte=18.5806 occupancy=20\n"
            "  roof_ratio=0.929032 occ_ratio=1 thread_ratio=1 score=0.929032\n");
}

struct Row {
  std::string name;
  std::int64_t range;
  std::int64_t global;
  std::int64_t local;
  friend bool operator==(const Row &, const Row &) = default;
  friend void PrintTo(const Row &row, std::ostream *out) {
    *out << row.name << " " << row.range << " " << row.global << " " << row.local;
  }
};

// Rows in the order of local strides.
std::vector<Row> rows(const SharedLayout &layout, const Flat &flat) {
  std::vector<Row> result;
  for (const MergedIndex &merged : layout.merged)
    result.push_back(
        {name_of(merged, flat.names), merged.range, merged.stride, merged.local_stride});
  return result;
}

TEST(PlaidmlArticle, SharedLayouts) {
  const Flat flat = article_kernel().flat;
  const SharedLayout image = shared_layout(flat.accesses[1], kChosen, 8);
  EXPECT_EQ(
      rows(image, flat),
      (std::vector<Row>{
          {"i_x", 3, 14336, 1}, {"n", 16, 3211264, 3}, {"ci", 8, 1, 49}, {"j_y", 4, 64, 393}}));
  EXPECT_EQ(image.elems, 1572);
  const SharedLayout filter = shared_layout(flat.accesses[2], kChosen, 8);
  EXPECT_EQ(rows(filter, flat),
            (std::vector<Row>{{"co", 32, 64, 1}, {"ci", 8, 1, 33}, {"j_i", 6, 4096, 265}}));
  EXPECT_EQ(filter.elems, 1590);
}

TEST(PlaidmlArticle, ThreadLayout) {
  const Flat flat = article_kernel().flat;
  const ThreadPlan plan = thread_plan(flat, kChosen, kTestGpu);
  EXPECT_EQ(plan.threads, 256);
  std::string text;
  for (const OutputIndex &index : plan.output.indices)
    text += flat.names[index.index] + " " + std::to_string(index.threads) + ", ";
  EXPECT_EQ(text, "co 8, y 2, x 2, n 8, ");
  EXPECT_EQ(plan.output.accumulators, 8);
  EXPECT_EQ(plan.output.threads(), 256);
  EXPECT_EQ(plan.merge_steps, 0);
}

TEST(PlaidmlArticle, ChosenTileAndWalks) {
  const Flat flat = article_kernel().flat;
  const Search fast = search(flat, kTestGpu, Walk::Fast);
  EXPECT_EQ(fast.visits[fast.best].tile, kChosen);
  EXPECT_EQ(fast.visits.size(), 552U);
  EXPECT_EQ(fast.ties, 128U);
  EXPECT_EQ(fast.visits[fast.best].score.score, 1);
  const Search full = search(flat, kTestGpu, Walk::Full);
  EXPECT_EQ(full.visits.size(), 73365U);
  EXPECT_EQ(full.ties, 2038U);
}

TEST(PlaidmlArticle, TheLogsTilesAreVisited) {
  const Search fast = search(article_kernel().flat, kTestGpu, Walk::Fast);
  for (const Tile &tile : {Tile{8, 32, 1, 3, 16, 8, 2}, Tile{8, 32, 1, 3, 16, 4, 4},
                           Tile{16, 32, 1, 1, 16, 2, 2}, Tile{8, 32, 2, 1, 16, 2, 2}}) {
    const bool visited = std::any_of(fast.visits.begin(), fast.visits.end(),
                                     [&](const Visit &visit) { return visit.tile == tile; });
    EXPECT_TRUE(visited) << to_text(tile);
  }
}

TEST(PlaidmlArticle, OtherDevicesFallShortOfTheirFullWalk) {
  const Flat flat = article_kernel().flat;
  const Search fast = search(flat, kAmd, Walk::Fast);
  const Search full = search(flat, kAmd, Walk::Full);
  EXPECT_NEAR(fast.visits[fast.best].score.score, 0.606, 0.0005);
  EXPECT_NEAR(full.visits[full.best].score.score, 0.970, 0.0005);
}

} // namespace
} // namespace tilefuse::cost::plaidml
