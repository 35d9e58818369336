// SPDX-License-Identifier: Apache-2.0
// Gradients of small programs: their text where it matters, otherwise against finite differences.
#include <gtest/gtest.h>

#include "base/error.h"
#include "program/finite_difference.h"
#include "program/gradient/gradient.h"

namespace tilefuse::program {
namespace {

using testing::expect_gradients;
using testing::gradient_by_inputs;
using testing::Values;

Program parse(const std::string &lines) {
  Program program = parse_program("program \"test\" {\n" + lines + "}\n", "test");
  verify(program);
  return program;
}

Values scalar_gradient(const Program &program, const std::vector<Values> &inputs) {
  std::vector<Values> given = inputs;
  for (TensorId id : program.outputs)
    given.emplace_back(static_cast<std::size_t>(elems(program[id].shape)), 1.0);
  return testing::run(gradient_by_inputs(program), given).at(0);
}

TEST(Gradient, OfASumOfProductsExchangesTheRoles) {
  const Program program = parse(R"(
    input %0 "x" : f32[2, 9]
    input %1 "w" : f32[3, 3]
    %2 "y" : f32[2, 3, 4] = sum[n, m, i, r](%0[n, 2*i + r - 1] * %1[m, r]) -> [n, m, i]
    output %2
  )");
  EXPECT_EQ(to_text(gradient_by_inputs(program)), R"(program "test" {
  input %0 "x" : f32[2, 9]
  input %1 "w" : f32[3, 3]
  input %2 "grad y" : f32[2, 3, 4]
  %3 "grad x" : f32[2, 9] = sum[n, m, i, r](%2[n, m, i] * %1[m, r]) -> [n, 2*i + r - 1]
  %4 "grad w" : f32[3, 3] = sum[n, m, i, r](%2[n, m, i] * %0[n, 2*i + r - 1]) -> [m, r]
  output %3
  output %4
}
)");
  expect_gradients(program);
}

TEST(Gradient, OfReluReadsTheResultOnly) {
  const Program program = parse(R"(
    input %0 "x" : f32[4]
    %1 "y" : f32[4] = map[%0](max($0, 0))
    output %1
  )");
  const std::string text = to_text(gradient_by_inputs(program, true));
  EXPECT_NE(text.find("map[%2, %1](select($1 > 0, $0, 0))"), std::string::npos) << text;
  EXPECT_EQ(scalar_gradient(program, {{-1, 0, 2, 3}}), (Values{0, 0, 1, 1}));
}

// Sums of which an operand drops out run over the same points all the same.
TEST(Gradient, OfAddedOperandsCountsThePointsOfBoth) {
  const Program program = parse(R"(
    input %0 "a" : f32[5]
    input %1 "b" : f32[3, 7]
    %2 "y" : f32[5] = sum[i, j, k](%0[i] + %1[j, i + k]) -> [i] where 0 <= k < 4
    output %2
  )");
  expect_gradients(program);
  // 3 * 4 points where i + k < 7.
  EXPECT_EQ(scalar_gradient(program, {Values(5, 1.0), Values(21, 1.0)}),
            (Values{12, 12, 12, 12, 9}));
}

TEST(Gradient, OfAddedOperandsCountsOnlyWholeSubscripts) {
  expect_gradients(parse(R"(
    input %0 "a" : f32[9]
    input %1 "b" : f32[4]
    %2 "y" : f32[9] = sum[i, k](%0[i] + %1[1/2*i + 1/2*k]) -> [i] where 0 <= k < 3
    output %2
  )"));
}

TEST(Gradient, OfFractionalSubscripts) {
  expect_gradients(parse(R"(
    input %0 "x" : f32[2, 5]
    input %1 "w" : f32[3]
    %2 "y" : f32[2, 11] = sum[n, i, r](%0[n, 1/2*i + 1/2*r - 1/2] * %1[r]) -> [n, i]
    output %2
  )"));
  expect_gradients(parse(R"(
    input %0 "x" : f32[5]
    %1 "y" : f32[7] = max[i, r](%0[1/3*i + 1/3*r - 1/3]) -> [i] where 0 <= r < 4
    output %1
  )"));
}

TEST(Gradient, OfComparedOperandsGoesToTheThirdOnly) {
  const Program program = parse(R"(
    input %0 "a" : f32[4, 3]
    input %1 "b" : f32[4]
    input %2 "c" : f32[3]
    %3 "y" : f32[4] = sum[i, j](%0[i, j] == %1[i] ? %2[j]) -> [i]
    %4 "e" : f32[4] = sum[i, j](%0[i, j] == %1[i]) -> [i]
    %5 "z" : f32[4] = map[%3, %4]($0 * $1)
    output %5
  )");
  const std::vector<Values> inputs = {
      {1, 2, 1, 0, 0, 0, 5, 6, 7, 2, 2, 3}, {1, 0, 4, 2}, {10, 20, 30}, Values(4, 1)};
  const std::vector<Values> got = testing::run(gradient_by_inputs(program), inputs);
  EXPECT_EQ(got[0], Values(12, 0));
  EXPECT_EQ(got[1], Values(4, 0));
  EXPECT_EQ(got[2], (Values{2 + 3 + 2, 3 + 2, 2 + 3}));
}

TEST(Gradient, OfAnInitIsThatOfWhatIsNotWritten) {
  const Program slice = parse(R"(
    input %0 "x" : f32[2, 3]
    input %1 "t" : f32[2, 8]
    %2 "y" : f32[2, 8] = assign[i, j](%0[i, j]) -> [i, j + 4] init %1
    output %2
  )");
  expect_gradients(slice);
  EXPECT_NE(to_text(gradient_by_inputs(slice)).find("where 0 <= i1 < 3 init %2"),
            std::string::npos);
  expect_gradients(parse(R"(
    input %0 "x" : f32[2, 3]
    input %1 "t" : f32[2, 9]
    %2 "y" : f32[2, 9] = sum[i, j, k](%0[i, j]) -> [i, 3*j + 2*k] where 0 <= k < 2 init %1
    output %2
  )"));
  expect_gradients(parse(R"(
    input %0 "x" : f32[3]
    input %1 "t" : f32[9]
    %2 "y" : f32[9] = max[i, k](%0[1/2*i + 1/2*k]) -> [i] where 0 <= k < 3 init %1
    output %2
  )"));
  const Program all = parse(R"(
    input %0 "t" : f32[3]
    input %1 "x" : f32[3]
    %2 "y" : f32[3] = sum[i](%1[i]) -> [i] init %0
    output %2
  )");
  EXPECT_EQ(scalar_gradient(all, {{1, 2, 3}, {4, 5, 6}}), Values(3, 0));
}

TEST(Gradient, OfConcatenatedPiecesAreSlices) {
  const Program program = parse(R"(
    input %0 "a" : f32[2, 3]
    input %1 "b" : f32[2, 2]
    input %2 "c" : f32[2, 1]
    %3 "first" : f32[2, 6] = assign[i, j](%0[i, j]) -> [i, j]
    %4 "second" : f32[2, 6] = assign[i, j](%1[i, j]) -> [i, j + 3] init %3
    %5 "third" : f32[2, 6] = assign[i, j](%2[i, j]) -> [i, j + 5] init %4
    output %5
  )");
  const Program derived = gradient_by_inputs(program);
  EXPECT_EQ(derived.statements.size(), 3U) << to_text(derived);
  expect_gradients(program);
  expect_gradients(parse(R"(
    input %0 "a" : f32[6]
    input %1 "b" : f32[2]
    input %2 "c" : f32[3]
    %3 "second" : f32[6] = assign[j](%1[j]) -> [j + 3] init %0
    %4 "third" : f32[6] = assign[j](%2[j]) -> [j + 2] init %3
    output %4
  )"));
}

TEST(Gradient, OfAMaximumGoesToTheFirstOfEqualElements) {
  const Program program = parse(R"(
    input %0 "x" : f32[3, 3]
    %1 "y" : f32[2] = max[i, j, k](%0[j, i + k]) -> [i] where 0 <= k < 2
    output %1
  )");
  expect_gradients(program);
  EXPECT_EQ(scalar_gradient(program, {{1, 1, 0, 0, 0, 1, 1, 1, 1}}),
            (Values{1, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(scalar_gradient(program, {{0, 2, 0, 2, 2, 2, 2, 2, 2}}),
            (Values{0, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(scalar_gradient(program, {Values(9, -1e30)}), (Values{1, 1, 0, 0, 0, 0, 0, 0, 0}));
}

// A window's nine taps are told apart by a byte, however large the image is.
TEST(Gradient, WinnersOfWindowsAreNarrow) {
  const Program program = parse(R"(
    input %0 "x" : f32[40, 40]
    %1 "y" : f32[20, 20] = max[y, x, j, i](%0[2*y + j - 1, 2*x + i - 1]) -> [y, x] where 0 <= j < 3, 0 <= i < 3
    output %1
  )");
  const std::string text = program::to_text(gradient_by_inputs(program));
  EXPECT_NE(text.find("\"winner\" : u8[20, 20]"), std::string::npos) << text;
  EXPECT_NE(text.find("\"rank\" : u8[3, 3]"), std::string::npos) << text;
}

TEST(Gradient, OfAMaximumReadTwiceCountsOnce) {
  const Program program = parse(R"(
    input %0 "x" : f32[4]
    %1 "y" : f32[2] = min[i, j, k](%0[2*i + j]) -> [i] where 0 <= k < 3, 0 <= j < 2
    output %1
  )");
  expect_gradients(program);
  EXPECT_EQ(scalar_gradient(program, {{5, 5, 7, 6}}), (Values{1, 0, 0, 1}));
}

TEST(Gradient, OfAMaximumThatSelectsOneElementTwiceCountsOnce) {
  const Program program = parse(R"(
    input %0 "x" : f32[2]
    %1 "y" : f32[] = max[i, j](%0[i] == %0[i] ? %0[j]) -> [] where 0 <= j < 1
    output %1
  )");
  EXPECT_EQ(scalar_gradient(program, {{3, 5}}), (Values{1, 0}));
}

TEST(Gradient, OfAnEmptyMaximumHasNoWinner) {
  const Program program = parse(R"(
    input %0 "x" : f32[2]
    %1 "y" : f32[4] = max[i](%0[i - 1]) -> [i]
    output %1
  )");
  expect_gradients(program);
  EXPECT_EQ(scalar_gradient(program, {{-3, 0}}), (Values{1, 1}));
}

TEST(Gradient, OfAMaximumOfSeveralOperands) {
  for (const char *comb : {"*", "+"})
    expect_gradients(parse(R"(
    input %0 "a" : f32[3, 5]
    input %1 "b" : f32[5, 2]
    %2 "y" : f32[3, 2] = max[i, j, k](%0[i, k] )" +
                           std::string(comb) + R"( %1[k, j]) -> [i, j]
    output %2
  )"));
  expect_gradients(parse(R"(
    input %0 "x" : f32[2, 6]
    input %1 "w" : f32[3]
    %2 "y" : f32[2, 6] = min[n, i, r](%0[n, i + r - 1] + %1[r]) -> [n, i]
    output %2
  )"));
  const Program tied = parse(R"(
    input %0 "a" : f32[3]
    input %1 "b" : f32[3]
    %2 "y" : f32[] = max[i, j](%0[i] + %1[j]) -> [] where 0 <= i - j + 2 < 3
    output %2
  )");
  const std::vector<Values> got =
      testing::run(gradient_by_inputs(tied), {{1, 1, 1}, {2, 2, 2}, {1}});
  EXPECT_EQ(got[0], (Values{1, 0, 0}));
  EXPECT_EQ(got[1], (Values{1, 0, 0}));
}

TEST(Gradient, OfProductsIsExactWithZeros) {
  const Program program = parse(R"(
    input %0 "x" : f32[3, 3]
    %1 "y" : f32[3] = product[i, j](%0[i, j]) -> [i]
    output %1
  )");
  expect_gradients(program);
  EXPECT_EQ(scalar_gradient(program, {{2, 3, 4, 2, 0, 4, 0, 3, 0}}),
            (Values{12, 8, 6, 0, 8, 0, 0, 0, 0}));
  expect_gradients(parse(R"(
    input %0 "x" : f32[7]
    %1 "y" : f32[3] = product[i, k](%0[2*i + k]) -> [i] where 0 <= k < 3
    output %1
  )"));
}

TEST(Gradient, OfProductsOfSeveralOperands) {
  const Program program = parse(R"(
    input %0 "a" : f32[2, 3]
    input %1 "b" : f32[3]
    %2 "y" : f32[2] = product[i, j](%0[i, j] * %1[j]) -> [i]
    output %2
  )");
  expect_gradients(program);
  EXPECT_EQ(scalar_gradient(program, {{2, 3, 0, 1, 1, 1}, {1, 2, 5}}),
            (Values{0, 0, 2 * 6 * 5, 10, 10, 10}));
  expect_gradients(parse(R"(
    input %0 "x" : f32[6]
    input %1 "w" : f32[3]
    %2 "y" : f32[6] = product[i, r](%0[i + r - 1] + %1[r]) -> [i]
    output %2
  )"));
}

TEST(Gradient, OfBroadcastOperandsIsSummed) {
  const Program program = parse(R"(
    input %0 "x" : f32[2, 3, 4]
    input %1 "a" : f32[3, 1]
    input %2 "b" : f32[]
    %3 "t" : f32[2, 3, 4] = map[%0, %1, %2](($0 - $2) * $1 + $1)
    %4 "u" : f32[5, 3, 2] = map[%1]($0 * $0)
    output %3
    output %4
  )");
  expect_gradients(program);
  const Program scaled = parse(R"(
    input %0 "x" : f32[2, 3]
    input %1 "a" : f32[3]
    %2 "y" : f32[2, 3] = map[%0, %1]($0 * $1)
    output %2
  )");
  EXPECT_NE(to_text(gradient_by_inputs(scaled)).find("sum[i0, i1](%2[i0, i1] * %0[i0, i1])"),
            std::string::npos);
}

TEST(Gradient, OfSeveralUsesAndViews) {
  expect_gradients(parse(R"(
    input %0 "x" : f32[2, 6]
    %1 "v" : f32[3, 4] = view(%0)
    %2 "s" : f32[3, 3] = sum[i, j, k](%1[i, k] * %1[j, k]) -> [i, j]
    %3 "m" : f32[3, 3] = map[%2, %2]($0 * tanh($1))
    %4 "z" : f32[2, 6] = map[%0](sin($0))
    output %3
    output %4
    output %0
  )"));
}

TEST(Gradient, StopsAtIntegersAndIsZeroWhereNothingDepends) {
  const Program program = parse(R"(
    input %0 "x" : f32[3]
    input %1 "n" : i32[3]
    input %2 "lone" : f16[2]
    %3 "whole" : i32[3] = map[%0](i32($0))
    %4 "y" : f32[3] = map[%0, %3, %1]($0 * f32($1) + f32($2))
    output %4
    output %3
  )");
  const Program derived = gradient_by_inputs(program);
  EXPECT_EQ(derived.inputs.size(), 4U);
  ASSERT_EQ(derived.outputs.size(), 2U);
  EXPECT_EQ(derived[derived.outputs[1]].type, DType::F16);
  const std::vector<Values> got =
      testing::run(derived, {{1.5, 2.5, -3.5}, {1, 2, 3}, {1, 1}, {1, 1, 1}});
  EXPECT_EQ(got[0], (Values{1, 2, -3}));
  EXPECT_EQ(got[1], (Values{0, 0}));
}

TEST(Gradient, OfHalfPrecisionIsSummedInFloat) {
  const Program program = parse(R"(
    input %0 "x" : f16[4]
    %1 "a" : f16[4] = map[%0](tanh($0))
    %2 "b" : f16[4] = map[%0, %1]($0 * $1)
    output %1
    output %2
  )");
  const Program derived = gradient_by_inputs(program);
  for (TensorId id : derived.outputs)
    EXPECT_EQ(derived[id].type, DType::F16);
  EXPECT_NE(to_text(derived).find("f16(f32($0) + f32($1)"), std::string::npos) << to_text(derived);
  expect_gradients(program);
}

TEST(Gradient, SharesEqualStatementsAndDropsOthers) {
  const Program program = parse(R"(
    input %0 "x" : f32[3, 4]
    %1 "s" : f32[3] = sum[i, j](%0[i, j] * %0[i, j]) -> [i]
    %2 "unused" : f32[3] = map[%1](exp($0))
    output %1
  )");
  const Program derived = gradient_by_inputs(program);
  // A view of the gradient of s, the product that both operands have, their sum.
  EXPECT_EQ(derived.statements.size(), 3U) << to_text(derived);
  expect_gradients(program);
}

TEST(Gradient, ByConstantsOfChosenOutputs) {
  Program program = testing::program_of(R"(program "p" {
    input %0 "x" : f32[2, 3]
    const %1 "w" : f32[3, 4]
    %2 "y" : f32[2, 4] = sum[i, j, k](%0[i, k] * %1[k, j]) -> [i, j]
    %3 "z" : f32[2, 4] = map[%2](exp($0))
    output %2
    output %3
  })");
  const Program derived =
      gradient(program, {.outputs = {TensorId{2}}, .by = {TensorId{1}}, .keep_outputs = true});
  EXPECT_EQ(derived.inputs.size(), 2U);
  ASSERT_EQ(derived.outputs.size(), 3U);
  EXPECT_EQ(derived[derived.outputs[0]].name, "grad w");
  EXPECT_EQ(derived[derived.outputs[2]].name, "z");
  verify(derived);
}

TEST(Gradient, InputsHaveNamesOfTheirOwn) {
  Program program = parse(R"(
    input %0 "x" : f32[2]
    input %1 "grad y" : f32[2]
    %2 "y" : f32[2] = map[%0, %1]($0 * $1)
    output %2
    output %2
  )");
  const Program derived = gradient_by_inputs(program);
  EXPECT_EQ(derived[derived.inputs.at(2)].name, "grad y 2");
  EXPECT_EQ(derived[derived.inputs.at(3)].name, "grad y 3");
  expect_gradients(program);
}

TEST(Gradient, OfWhatIsNotFloatingIsRefused) {
  const Program program = parse(R"(
    input %0 "x" : i32[3]
    input %1 "f" : f32[3]
    %2 "y" : i32[3] = map[%0]($0 + 1)
    output %2
  )");
  EXPECT_THROW(gradient(program, {.by = {TensorId{1}}}), Error);
  EXPECT_THROW(gradient(program, {.outputs = {TensorId{2}}, .by = {TensorId{1}}}), Error);
  EXPECT_THROW(gradient(program, {.outputs = {TensorId{1}}, .by = {TensorId{0}}}), Error);
  EXPECT_THROW(gradient(program, {.outputs = {TensorId{1}}, .by = {TensorId{9}}}), Error);
}

} // namespace
} // namespace tilefuse::program
