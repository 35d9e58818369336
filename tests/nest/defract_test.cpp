// SPDX-License-Identifier: Apache-2.0
// Goldens of what rational and compound subscripts become: the published case, transposed
// convolution, upsampling, pixel shuffle.
#include <gtest/gtest.h>

#include "base/error.h"
#include "nest/flatten/defract.h"
#include "nest/flatten/flatten.h"
#include "nest/stored.h"

namespace tilefuse {
namespace {

using program::Program;

// Statement 0 of a program in text form, every tensor row-major in a buffer of its own.
program::StoredProgram stored(const std::string &text) {
  const Program program = program::parse_program("program \"t\" {" + text + "}");
  program::verify(program);
  return test::row_major_storage(program);
}

// The texts of its nests.
std::string nests(const std::string &text) {
  const program::StoredProgram program = stored(text);
  std::string result;
  for (const nest::FlatStatement &flat : nest::flatten(program, program.program.statements.at(0)))
    result += nest::to_text(flat.nest);
  return result;
}

program::Affine form(std::vector<Rational> coeff, Rational constant = 0) {
  return {std::move(coeff), constant};
}

// O[2x + i] = +(I[x]), i < 4 with 100 and 50 elements: the case of lang_test.cc in PlaidML 0.7.0.
TEST(Defract, ThePublishedCase) {
  nest::System system;
  system.indices = {"x", "i"};
  system.results = 1;
  system.rows = {
      {form({2, 1}), 100, true, "O"}, {form({1, 0}), 50, true, "I"}, {form({0, 1}), 4, false, "i"}};
  const nest::Reduced reduced = nest::reduce(system, {{0, 49}, {0, 3}});
  EXPECT_EQ(reduced.outputs, 1U);
  EXPECT_EQ(reduced.indices[0], form({Rational(1, 2), Rational(-1, 2)}));
  EXPECT_EQ(reduced.indices[1], form({0, 1}));
  const nest::Defracted defracted = nest::defract(reduced);
  EXPECT_EQ(defracted.radix, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(defracted.digits, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(nest::to_text(defracted), R"(index v0_0 2, v0_1 50, v1_0 2
v0_0 + 2*v0_1 : 100
v0_1 - v1_0 : 50
where -v0_1 + v1_0 <= 0
)");
}

// Both residue classes have two taps: their residue is an index.
TEST(Defract, ThePublishedCaseAsANest) {
  EXPECT_EQ(nests(R"(
    input %0 "I" : f32[50]
    %1 "O" : f32[100] = sum[x, i](%0[x]) -> [2*x + i] where 0 <= i < 4
    output %1)"),
            R"(nest sumpool {
  index x 50, x_r 2 | i 2
  slot 0 f32 50, 1 f32 100
  acc f32 = sum
  in 0 + 0 [x - i:50?*1]
  out 1 + 0 [2*x + x_r:100*1]
  post acc
}
)");
}

std::string transposed(int size, int taps, int pad, int result) {
  return fmt::format(R"(
    input %0 "I" : f32[{0}]
    input %1 "K" : f32[{1}]
    %2 "O" : f32[{2}] = sum[x, k](%0[x] * %1[k]) -> [2*x + k - {3}]
    output %2)",
                     size, taps, result, pad);
}

// Three taps of stride 2: one class has two of them, the other one.
TEST(Defract, TransposedConvolutionOfThreeTapsHasTwoClasses) {
  EXPECT_EQ(nests(transposed(4, 3, 1, 8)), R"(nest mul {
  index x 4
  slot 0 f32 4, 1 f32 3, 2 f32 8
  acc f32 = sum mul
  in 0 + 0 [x:4*1]
  in 1 + 0 [1:3*1]
  out 2 + 0 [2*x:8*1]
  post acc
}
nest conv {
  index x 4 | k 2
  slot 0 f32 4, 1 f32 3, 2 f32 8
  acc f32 = sum mul
  in 0 + 0 [x - k + 1:4?*1]
  in 1 + 0 [2*k:3*1]
  out 2 + 0 [2*x + 1:8*1]
  post acc
}
)");
}

// Four taps of stride 2: two each, one nest; a result of odd size has one element fewer in a class.
TEST(Defract, TransposedConvolutionOfFourTapsIsOneNestWhereSizesAreEven) {
  EXPECT_EQ(nests(transposed(4, 4, 1, 8)), R"(nest dwconv {
  index x 4, x_r 2 | k 2
  slot 0 f32 4, 1 f32 4, 2 f32 8
  acc f32 = sum mul
  in 0 + 0 [x + x_r - k:4?*1]
  in 1 + 0 [-x_r + 2*k + 1:4*1]
  out 2 + 0 [2*x + x_r:8*1]
  post acc
}
)");
  EXPECT_EQ(nests(transposed(4, 4, 1, 9)), R"(nest conv {
  index x 5 | k 2
  slot 0 f32 4, 1 f32 4, 2 f32 9
  acc f32 = sum mul
  in 0 + 0 [x - k:4?*1]
  in 1 + 0 [2*k + 1:4*1]
  out 2 + 0 [2*x:9*1]
  post acc
}
nest conv {
  index x 4 | k 2
  slot 0 f32 4, 1 f32 4, 2 f32 9
  acc f32 = sum mul
  in 0 + 0 [x - k + 1:4?*1]
  in 1 + 0 [2*k:4*1]
  out 2 + 0 [2*x + 1:9*1]
  post acc
}
)");
}

// The same contraction as a gather with fractional subscripts.
TEST(Defract, FractionalSubscriptsAreTheSameNests) {
  for (const int taps : {1, 2, 3, 4, 5})
    for (const int result : {7, 8}) {
      const std::string gather = fmt::format(R"(
        input %0 "I" : f32[4]
        input %1 "K" : f32[{0}]
        %2 "O" : f32[{1}] = sum[x, k](%0[1/2*x - 1/2*k + 1/2] * %1[k]) -> [x]
        output %2)",
                                             taps, result);
      EXPECT_EQ(nests(gather), nests(transposed(4, taps, 1, result)));
    }
}

// A stride above the number of taps leaves classes that nothing reaches: they are filled.
TEST(Defract, ClassesWithoutTapsAreFilled) {
  EXPECT_EQ(nests(R"(
    input %0 "I" : f32[3]
    %1 "O" : f32[8] = assign[x](%0[x]) -> [3*x]
    output %1)"),
            R"(nest copy {
  index x 3
  slot 0 f32 3, 1 f32 8
  acc f32 = assign
  in 0 + 0 [x:3*1]
  out 1 + 0 [3*x:8*1]
  post acc
}
nest map {
  index x 3
  slot 0 f32 8
  acc f32 = assign
  out 0 + 0 [3*x + 1:8*1]
  post 0
}
nest map {
  index x 2
  slot 0 f32 8
  acc f32 = assign
  out 0 + 0 [3*x + 2:8*1]
  post 0
}
)");
}

TEST(Defract, NearestUpsamplingKeepsItsDigits) {
  EXPECT_EQ(nests(R"(
    input %0 "X" : f32[4, 5]
    %1 "Y" : f32[8, 15] = assign[y, x, j, i](%0[y, x]) -> [2*y + j, 3*x + i] where 0 <= j < 2, 0 <= i < 3
    output %1)"),
            R"(nest copy {
  index y 4, y_r 2, x 5, x_r 3
  slot 0 f32 20, 1 f32 120
  acc f32 = assign
  in 0 + 0 [y:4*5, x:5*1]
  out 1 + 0 [2*y + y_r:8*15, 3*x + x_r:15*1]
  post acc
}
)");
}

// 540000 residue classes, in two dimensions that have nothing to do with each other.
TEST(Defract, UpsamplingByALargeFactorIsOneNest) {
  const auto upsampled = [](int size) {
    return nests(fmt::format(R"(
      input %0 "X" : f32[{0}, {0}]
      %1 "Y" : f32[{1}, {2}] = assign[y, x, j, i](%0[y, x]) -> [600*y + j, 900*x + i] where 0 <= j < 600, 0 <= i < 900
      output %1)",
                             size, 600 * size, 900 * size));
  };
  const std::string text = upsampled(2);
  EXPECT_NE(text.find("index y 2, y_r 600, x 2, x_r 900\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("nest", 1), std::string::npos) << text;
  const std::string spread = upsampled(1);
  EXPECT_NE(spread.find("index y 600, x 900\n"), std::string::npos) << spread;
}

TEST(Defract, PixelShuffleKeepsItsDigits) {
  EXPECT_EQ(nests(R"(
    input %0 "X" : f32[1, 12, 2, 5]
    %1 "Y" : f32[1, 3, 4, 10] = assign[n, c, y, x, j, i](%0[n, 4*c + 2*j + i, y, x]) -> [n, c, 2*y + j, 2*x + i] where 0 <= j < 2, 0 <= i < 2
    output %1)"),
            R"(nest copy {
  index c 3, y 2, y_r 2, x 5, x_r 2
  slot 0 f32 120, 1 f32 120
  acc f32 = assign
  in 0 + 0 [0:1*120, 4*c + 2*y_r + x_r:12*10, y:2*5, x:5*1]
  out 1 + 0 [0:1*120, c:3*40, 2*y + y_r:4*10, 2*x + x_r:10*1]
  post acc
}
)");
}

// Two dimensions of stride 2 with three taps: 2 x 2 classes of 1, 2, 2 and 4 taps, nine in all.
TEST(Defract, NoTapIsWasted) {
  const program::StoredProgram program = stored(R"(
    input %0 "I" : f32[1, 8, 7, 7]
    input %1 "K" : f32[8, 4, 3, 3]
    %2 "O" : f32[1, 4, 14, 14] = sum[n, c, y, x, m, r, s](%0[n, c, y, x] * %1[c, m, r, s]) -> [n, m, 2*y + r - 1, 2*x + s - 1]
    output %2)");
  std::vector<double> points;
  for (const nest::FlatStatement &flat : nest::flatten(program, program.program.statements.at(0))) {
    double count = 1;
    for (const nest::Index &index : flat.nest.indices)
      count *= static_cast<double>(index.extent);
    points.push_back(count / (4.0 * 7 * 7 * 8));
  }
  EXPECT_EQ(points, (std::vector<double>{1, 2, 2, 4}));
}

// The filter of an input as small as itself: the loop runs over what is there.
TEST(Defract, ASmallInputIsWalkedInsteadOfALargeFilter) {
  const std::string text = nests(R"(
    input %0 "I" : f32[2]
    input %1 "K" : f32[9]
    %2 "O" : f32[2] = sum[x, k](%0[x + k - 4] * %1[k]) -> [x]
    output %2)");
  EXPECT_NE(text.find("index x 2 | k 3\n"), std::string::npos) << text;
}

TEST(Lattice, HermiteNormalFormSpansTheSame) {
  std::vector<std::vector<std::int64_t>> columns = {{4, 6}, {6, 4}};
  nest::to_hermite(columns);
  EXPECT_EQ(columns, (std::vector<std::vector<std::int64_t>>{{2, 8}, {0, 10}}));
}

TEST(Lattice, PointsAtWhichFormsAreWhole) {
  const auto half = nest::integral_points(std::vector{form({Rational(1, 2)}, Rational(1, 2))}, 1);
  ASSERT_TRUE(half);
  EXPECT_EQ(*half, (nest::Lattice{{1}, {{2}}}));
  const auto two = nest::integral_points(
      std::vector{form({Rational(1, 2), Rational(-1, 2)}), form({0, Rational(1, 3)})}, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->basis, (std::vector<std::vector<std::int64_t>>{{1, 3}, {0, 6}}));
  EXPECT_EQ(nest::period(*two, 0), 2);
  EXPECT_EQ(nest::period(*two, 1), 6);
  EXPECT_FALSE(nest::integral_points(std::vector{form({1}, Rational(1, 2))}, 1));
}

} // namespace
} // namespace tilefuse
