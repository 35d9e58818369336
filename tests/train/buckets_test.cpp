// SPDX-License-Identifier: Apache-2.0
// What workers exchange together, and when it is complete.
#include <gtest/gtest.h>

#include "train/lanes/buckets.h"

namespace tilefuse::train {
namespace {

// Layers of 10, 30, 60 and 4 rows, whose gradients end in the other order; the last rows are in
// nobody's use.
const std::vector<Bucket> kUses{{0, 10, 40}, {10, 30, 30}, {40, 60, 20}, {100, 4, 10}};

TEST(Buckets, AreCompleteBehindTheLastLaunchThatTouchesThem) {
  const std::vector<Bucket> buckets =
      make_buckets(kUses, {.rows = 112, .workers = 2, .front = 3, .most = 48});
  const std::vector<Bucket> expected{{100, 12, 10}, {52, 48, 20}, {4, 48, 40}, {0, 4, 40}};
  EXPECT_EQ(buckets, expected);
  EXPECT_EQ(to_text(buckets, 41),
            "0.0 MB behind launch 10, 0.2 behind 20, 0.2 behind 40, 0.0 behind 40 of 41");
}

// Every row lies in one of them, and workers can share each; what travels as bf16 has no other rows.
constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{0, 0},   {1, 100},  {5, 99},
                                                            {48, 40}, {1000, 0}, {1000, 101}};
TEST(Buckets, DivideTheRows) {
  for (const int workers : {1, 2, 8, 64})
    for (const auto &[most, narrow] : kSizes) {
      std::vector<int> times(128);
      std::size_t before = 0;
      for (const Bucket &each : make_buckets(kUses, {128, workers, most / 16, most, narrow})) {
        EXPECT_EQ(each.rows % workers, 0);
        EXPECT_GE(each.after, before);
        EXPECT_TRUE(!each.is_narrow || each.row + each.rows <= narrow);
        before = each.after;
        for (std::int64_t row = each.row; row < each.row + each.rows; ++row)
          ++times.at(static_cast<std::size_t>(row));
      }
      EXPECT_EQ(times, std::vector<int>(128, 1)) << workers << " workers, " << most << " rows";
    }
}

TEST(Buckets, EndWhereNumbersAreWider) {
  const std::vector<Bucket> expected{{100, 12, 10, false}, {0, 100, 40, true}};
  EXPECT_EQ(make_buckets(kUses, {112, 2, 112, 112, 101}), expected);
}

// A statistic that the backward pass reads again lies among the rows of its layer.
TEST(Buckets, WaitForTheLastOfSeveralUses) {
  const std::vector<Bucket> uses{{0, 8, 5}, {8, 8, 9}, {4, 1, 7}};
  const std::vector<Bucket> expected{{0, 8, 7}, {8, 8, 9}};
  EXPECT_EQ(make_buckets(uses, {.rows = 16, .workers = 8, .front = 8, .most = 8}), expected);
}

} // namespace
} // namespace tilefuse::train
