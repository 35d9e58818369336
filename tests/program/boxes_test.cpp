// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "program/reference.h"
#include "program/storage/boxes.h"
#include "program/storage/written.h"

namespace tilefuse::program {
namespace {

TEST(Boxes, DisjointAndCovered) {
  const Box left{{0, 0}, {4, 2}};
  const Box right{{0, 2}, {4, 5}};
  EXPECT_TRUE(are_disjoint(left, right));
  EXPECT_FALSE(are_disjoint(left, Box{{3, 1}, {4, 3}}));
  EXPECT_TRUE(are_disjoint(left, Box{{1, 1}, {1, 2}})) << "an empty box meets nothing";
  const std::vector<Box> both = {left, right};
  EXPECT_TRUE(is_covered(whole({4, 5}), both));
  EXPECT_FALSE(is_covered(whole({4, 6}), both));
  EXPECT_FALSE(is_covered(whole({}), {}));
  const std::vector<Box> point = {whole({})};
  EXPECT_TRUE(is_covered(whole({}), point));
}

TEST(Boxes, RandomCoverageAgreesWithCounting) {
  std::mt19937 random(5);
  int covered = 0;
  const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
  for (int i = 0; i < 2000; ++i) {
    std::vector<Box> parts;
    std::set<std::pair<std::int64_t, std::int64_t>> points;
    for (int k = 0; k < 4; ++k) {
      Box box{{below(3), below(3)}, {}};
      box.hi = {box.lo[0] + 1 + below(4), box.lo[1] + 1 + below(4)};
      for (std::int64_t y = box.lo[0]; y < std::min<std::int64_t>(4, box.hi[0]); ++y)
        for (std::int64_t x = box.lo[1]; x < std::min<std::int64_t>(4, box.hi[1]); ++x)
          points.emplace(y, x);
      parts.push_back(std::move(box));
    }
    const bool all = points.size() == 16;
    covered += all ? 1 : 0;
    EXPECT_EQ(is_covered(whole({4, 4}), parts), all);
  }
  EXPECT_GT(covered, 10);
}

// What the last statement of a program writes.
std::optional<Box> written(const std::string &statement, const std::string &inputs) {
  const Program program = testing::program_of("program \"t\" { " + inputs +
                                              " %9 \"o\" : " + statement + " output %9 }");
  const Statement &last = program.statements.back();
  return written_box(program, program[last.out].shape, std::get<Contraction>(last.body));
}

const std::string kImage = "input %0 \"x\" : f32[1, 3, 7, 7] const %1 \"w\" : f32[5, 3, 3, 3]";
const Box kNothing1{{0}, {0}};

TEST(WrittenBox, ConvolutionsWithStridePaddingAndDilation) {
  EXPECT_EQ(written("f32[1, 5, 7, 7] = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * "
                    "%1[m, c, r, s]) -> [n, m, y, x]",
                    kImage),
            whole({1, 5, 7, 7}));
  EXPECT_EQ(written("f32[1, 5, 4, 3] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 1, 2*x + s] * "
                    "%1[m, c, r, s]) -> [n, m, y, x]",
                    kImage),
            whole({1, 5, 4, 3}));
  EXPECT_EQ(written("f32[1, 5, 7, 7] = sum[n, m, y, x, c, r, s](%0[n, c, y + 2*r - 9, x + s] * "
                    "%1[m, c, r, s]) -> [n, m, y, x]",
                    kImage),
            (Box{{0, 0, 5, 0}, {1, 5, 7, 7}}));
}

TEST(WrittenBox, SlicesPaddingAndConstantSubscripts) {
  const std::string x = "input %0 \"x\" : f32[4]";
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i + 2]", x), (Box{{2}, {6}}));
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i + 6]", x), (Box{{6}, {8}}));
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [-i + 7]", x), (Box{{4}, {8}}));
  EXPECT_EQ(written("f32[8] = sum[i](%0[i]) -> [5]", x), (Box{{5}, {6}}));
  EXPECT_EQ(written("f32[8] = sum[i](%0[i]) -> [8]", x), kNothing1);
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i] where 0 <= i - 1 < 2", x), (Box{{1}, {3}}));
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i] where 0 <= i - 9 < 2", x), kNothing1);
  EXPECT_EQ(written("f32[8] = sum[i, j](%0[j]) -> [i] where 0 <= j - 9 < 2", x), kNothing1);
  EXPECT_EQ(written("f32[] = sum[j](%0[j]) -> [] where 0 <= j - 2 < 2", x), whole({}));
  EXPECT_EQ(written("f32[] = sum[j](%0[j]) -> [] where 0 <= j - 9 < 2", x), std::nullopt);
}

TEST(WrittenBox, ConditionsWithoutIntegerSolutionsWriteNothing) {
  const std::string x = "input %0 \"x\" : f32[4]";
  const std::string sum = "f32[8] = sum[i, j, k, l](%0[j]) -> [i] where 0 <= k < 4, 0 <= l < 4, ";
  EXPECT_EQ(written(sum + "0 <= 2*j + 2*k - 2*l - 1 < 1", x), kNothing1);
  EXPECT_EQ(written(sum + "0 <= 2*j + 2*k - 2*l - 1 < 2", x), whole({8}));
}

TEST(WrittenBox, ConstraintsTakeFractions) {
  const std::string x = "input %0 \"x\" : f32[8]";
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i] where 0 <= 1/2*i < 2", x), (Box{{0}, {4}}));
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [i] where 0 <= 1/3*i - 1 < 1", x),
            (Box{{3}, {6}}));
}

TEST(WrittenBox, RationalAndCompoundSubscripts) {
  const std::string x = "input %0 \"x\" : f32[4]";
  EXPECT_EQ(written("f32[8] = assign[i](%0[1/2*i]) -> [i]", x), std::nullopt)
      << "only the even elements";
  EXPECT_EQ(written("f32[8] = sum[i, j](%0[1/2*i - 1/2*j]) -> [i] where 0 <= j < 2", x),
            whole({8}));
  EXPECT_EQ(written("f32[8] = assign[i, j](%0[i]) -> [2*i + j] where 0 <= j < 2", x), whole({8}));
  EXPECT_EQ(written("f32[8] = assign[i](%0[i]) -> [2*i]", x), std::nullopt);
  EXPECT_EQ(written("f32[4, 4] = assign[i, j](%0[i]) -> [i, j] where 0 <= i + j < 4", x),
            std::nullopt)
      << "a triangle";
  EXPECT_EQ(written("f32[4, 4] = assign[i](%0[i]) -> [i, i]", x), std::nullopt) << "a diagonal";
}

TEST(WrittenBox, HugeNumbersAreNotReasonedAbout) {
  const std::string x = "input %0 \"x\" : f32[4]";
  EXPECT_EQ(written("f32[4] = sum[i, j](%0[i + 4611686018427387904*j]) -> [i]", x), std::nullopt);
  EXPECT_EQ(written("f32[4] = sum[i, j](%0[1/4611686018427387904*i + j]) -> [i]", x), std::nullopt);
}

std::optional<Slice> slice_of(const std::string &statement) {
  const Program program = testing::program_of(
      "program \"t\" { input %0 \"x\" : f32[2, 3] %9 \"o\" : f32[4, 5] = " + statement +
      " output %9 }");
  return as_slice(program, program.statements.back());
}

TEST(Slices, AreWholeCopiesInOrder) {
  const auto slice = slice_of("assign[i, j](%0[i, j]) -> [i + 1, j + 2]");
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->at, (Shape{1, 2}));
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j]) -> [i + 1, j + 3]")) << "cut off";
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j]) -> [i - 1, j]")) << "cut off";
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j]) -> [j, i]")) << "transposed";
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j + 1]) -> [i, j]")) << "not whole";
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j]) -> [2*i, j]")) << "spread";
  EXPECT_FALSE(slice_of("sum[i, j](%0[i, j]) -> [i, j]"));
  EXPECT_FALSE(slice_of("assign[i, j](%0[i, j]) -> [i, j] where 0 <= i < 1"));
  EXPECT_FALSE(slice_of("assign[i, j, k](%0[i, j]) -> [i, j] where 0 <= k < 1"));
}

} // namespace
} // namespace tilefuse::program
