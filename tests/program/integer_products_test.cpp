// SPDX-License-Identifier: Apache-2.0
// Quantised programs in integers: what they become, and that values stay what they were.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "program/precision/integer_products.h"
#include "program/precision/integer_share.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

void set(Program &program, const std::string &name, const std::vector<double> &values) {
  for (Tensor &tensor : program.tensors) {
    if (tensor.name != name)
      continue;
    Bytes bytes(tensor.data->size());
    for (std::size_t i = 0; i < values.size(); ++i)
      store_element(bytes.data(), tensor.type, static_cast<std::int64_t>(i), values[i]);
    tensor.data = std::make_shared<const Bytes>(std::move(bytes));
  }
}

// Whole numbers from 0 to 250.
std::vector<testing::Values> bytes_of(const Program &program) {
  std::vector<testing::Values> inputs;
  for (const TensorId id : program.inputs) {
    testing::Values values;
    for (std::int64_t i = 0; i < elems(program[id].shape); ++i)
      values.push_back(static_cast<double>((i * 37 + 11 * at(id)) % 251) -
                       (program[id].type == DType::I8 ? 128 : 0));
    inputs.push_back(std::move(values));
  }
  return inputs;
}

Program integers_of(const Program &program) {
  const Program whole = integer_products(program);
  const std::vector<testing::Values> inputs = bytes_of(program);
  EXPECT_EQ(testing::run(whole, inputs), testing::run(program, inputs));
  return whole;
}

// A convolution of three taps of what `zero` dequantises, its bias and Relu, rounded to `type`.
Program convolution(double zero, const std::string &type = "u8", int before = 1) {
  Program program = testing::program_of(fmt::format(
      R"(program "p" {{
  input %0 "x" : {0}[1, 3, 9]
  const %1 "w" : i8[4, 3, 3]
  const %2 "sw" : f32[4, 1, 1]
  const %3 "zw" : i8[]
  const %4 "sx" : f32[]
  const %5 "zx" : {0}[]
  const %6 "b" : f32[4, 1]
  const %7 "sy" : f32[]
  const %8 "zy" : {0}[]
  %9 "dx" : f32[1, 3, 9] = map[%0, %5, %4](f32(i32($0) - i32($1)) * $2)
  %10 "dw" : f32[4, 3, 3] = map[%1, %3, %2](f32(i32($0) - i32($1)) * $2)
  %11 "t" : f32[1, 4, 7] = sum[n, m, x, c, s](%9[n, c, x + s - {1}] * %10[m, c, s]) -> [n, m, x] where 0 <= s < 3 from "Conv"
  %12 "a" : f32[1, 4, 7] = map[%11, %6]($0 + $1)
  %13 "r" : f32[1, 4, 7] = map[%12](max($0, 0))
  %14 "q" : {0}[1, 4, 7] = map[%13, %7, %8]({0}(max(min(round($0 / $1) + f32($2), {3}), {2})))
  %15 "y" : f32[1, 4, 7] = map[%14, %8, %7](f32(i32($0) - i32($1)) * $2)
  output %15
}})",
      type, before, type == "u8" ? 0 : -128, type == "u8" ? 255 : 127));
  set(program, "sw", {0.5, 0.25, 1, 2});
  set(program, "zw", {0});
  set(program, "sx", {0.125});
  set(program, "zx", {zero});
  set(program, "b", {0.0625 * 3, -0.03125 * 5, 0, 0.25});
  set(program, "sy", {0.5});
  set(program, "zy", {type == "u8" ? 0.0 : -128.0});
  return program;
}

TEST(IntegerProducts, BiasAndZeroPointAreInUnitsOfTheSums) {
  const Program program = convolution(7, "u8", 0);
  const Program whole = integers_of(program);
  EXPECT_EQ(testing::lines_of(whole), R"(program "p" {
  input %0 "x" : u8[1, 3, 9]
  const %1 "w" : i8[4, 3, 3]
  const %5 "" : i32[1, 4, 1]
  const %6 "" : f32[1, 4, 1]
  %4 "t" : i32[1, 4, 7] = sum[n, m, x, c, s](%0[n, c, x + s] * %1[m, c, s]) -> [n, m, x] where 0 <= s < 3 from "Conv"
  %2 "q" : u8[1, 4, 7] = map[%4, %5, %6](u8(round(f32($0 + $1) * $2)))
  %3 "y" : f32[1, 4, 7] = map[%2](f32($0) * 0.5)
  output %3
}
)");
}

TEST(IntegerProducts, BordersAreSumsOfWhatIsThere) {
  for (const double zero : {0.0, 7.0}) {
    const Program program = convolution(zero);
    const Program whole = integers_of(program);
    const auto product = std::find_if(
        whole.statements.begin(), whole.statements.end(),
        [&](const Statement &statement) { return whole[statement.out].type == DType::I32; });
    const auto &body = std::get<Contraction>(product->body);
    EXPECT_EQ(whole[body.in[0].tensor].type, DType::U8);
    EXPECT_EQ(whole[body.in[0].tensor].shape.back(), zero == 0 ? 9 : 10);
  }
}

// An input that the program rounds: zeros stand around it, and are rounded to the zero point with it.
TEST(IntegerProducts, InputsAreRoundedWithTheirBorder) {
  for (const std::string type : {"u8", "i8"}) {
    Program program = testing::program_of(fmt::format(
        R"(program "p" {{
  input %0 "x" : f32[1, 3, 9]
  const %1 "w" : i8[4, 3, 3]
  const %2 "s" : f32[]
  const %3 "z" : {0}[]
  %4 "q" : {0}[1, 3, 9] = map[%0, %2, %3]({0}(max(min(round($0 / $1) + f32($2), {2}), {1}))) from "Quantize"
  %5 "dx" : f32[1, 3, 9] = map[%4, %3, %2](f32(i32($0) - i32($1)) * $2)
  %6 "dw" : f32[4, 3, 3] = map[%1, %2](f32($0) * $1)
  %7 "y" : f32[1, 4, 9] = sum[n, m, x, c, s](%5[n, c, x + s - 1] * %6[m, c, s]) -> [n, m, x] where 0 <= s < 3
  output %7
}})",
        type, type == "u8" ? 0 : -128, type == "u8" ? 255 : 127));
    set(program, "s", {1.25});
    set(program, "z", {type == "u8" ? 7.0 : -3.0});
    const Program whole = integers_of(program);
    ASSERT_GE(whole.statements.size(), 3U);
    EXPECT_EQ(reads(whole.statements[0]), whole.inputs) << to_text(whole);
    EXPECT_EQ(whole[whole.statements[0].out].shape, (Shape{1, 3, 11}));
    EXPECT_EQ(whole[whole.statements[1].out].type, DType::U8);
    EXPECT_EQ(whole.statements[1].origin, "Quantize");
  }
}

TEST(IntegerProducts, NegativeZeroPointsAreStoredWithoutSign) {
  const Program program = convolution(0, "i8");
  const Program whole = integers_of(program);
  EXPECT_EQ(whole[whole.statements.rbegin()[1].out].type, DType::U8);
}

// Integers move and are limited in the place of what they stand for; equal scales leave no rounding.
TEST(IntegerProducts, WhatMovesStaysIntegers) {
  Program program = testing::program_of(R"(program "p" {
  input %0 "x" : u8[1, 3, 8]
  const %1 "s" : f32[]
  const %2 "z" : u8[]
  %3 "d" : f32[1, 3, 8] = map[%0, %2, %1](f32(i32($0) - i32($1)) * $2)
  %4 "t" : f32[1, 8, 3] = assign[n, c, x](%3[n, c, x]) -> [n, x, c]
  %5 "p" : f32[1, 4, 3] = max[n, x, c, i](%4[n, 2*x + i - 1, c]) -> [n, x, c] where 0 <= i < 3
  %6 "v" : f32[1, 12] = view(%5)
  %7 "q" : u8[1, 12] = map[%6, %1, %2](u8(max(min(round($0 / $1) + f32($2), 255), 0)))
  %8 "m" : f32[1, 1] = sum[n, x](%6[n, x]) -> [n, 0]
  output %7
  output %8
})");
  set(program, "s", {0.25});
  set(program, "z", {3});
  const Program whole = integers_of(program);
  for (const Statement &statement : whole.statements)
    if (!std::holds_alternative<Map>(statement.body)) {
      EXPECT_FALSE(is_float(whole[statement.out].type)) << whole[statement.out].name;
    }
}

// What a window leaves empty is 0, which the zero point stands for: such moves stay as they are.
TEST(IntegerProducts, EmptyPlacesAreZero) {
  for (const double zero : {0.0, 3.0}) {
    Program program = testing::program_of(R"(program "p" {
  input %0 "x" : u8[4]
  const %1 "s" : f32[]
  const %2 "z" : u8[]
  %3 "d" : f32[4] = map[%0, %2, %1](f32(i32($0) - i32($1)) * $2)
  %4 "t" : f32[6] = assign[i](%3[i]) -> [i + 1]
  %5 "q" : u8[6] = map[%4, %1, %2](u8(max(min(round($0 / $1) + f32($2), 255), 0)))
  output %5
})");
    set(program, "s", {0.25});
    set(program, "z", {zero});
    const Program whole = integers_of(program);
    EXPECT_EQ(whole.statements.size(), zero == 0 ? 2U : 3U);
  }
}

TEST(IntegerProducts, AdditionsAreOneMapOfIntegers) {
  Program program = testing::program_of(R"(program "p" {
  input %0 "a" : u8[5, 8]
  input %1 "b" : u8[5, 8]
  const %2 "s" : f32[]
  const %3 "z" : u8[]
  %4 "da" : f32[5, 8] = map[%0, %3, %2](f32(i32($0) - i32($1)) * $2)
  %5 "db" : f32[5, 8] = map[%1, %3, %2](f32(i32($0) - i32($1)) * $2)
  %6 "c" : f32[5, 8] = map[%4, %5]($0 + $1)
  %7 "r" : f32[5, 8] = map[%6](max($0, 0))
  %8 "q" : u8[5, 8] = map[%7, %2](u8(max(min(round($0 / ($1 * 2)), 255), 0)))
  output %8
})");
  set(program, "s", {0.25});
  set(program, "z", {3});
  const Program whole = integers_of(program);
  ASSERT_EQ(whole.statements.size(), 1U);
  EXPECT_EQ(whole[std::get<Map>(whole.statements[0].body).operands[0]].type, DType::U8);
}

TEST(IntegerProducts, WhatStaysIsToldWithTheReason) {
  Program program = convolution(0);
  const Program whole = integer_products(program);
  const IntegerShare share = integer_share(whole);
  EXPECT_EQ(share.products, 1);
  EXPECT_EQ(share.in_integers, 1);
  EXPECT_TRUE(share.kept.empty());
  EXPECT_EQ(integer_share(program).kept.size(), 1U);
}

// A scale for each channel that is summed: no scale for the sum.
TEST(IntegerProducts, ScalesOfSummedChannelsStay) {
  Program program = testing::program_of(R"(program "p" {
  input %0 "x" : u8[5, 8]
  const %1 "w" : i8[8, 4]
  const %2 "s" : f32[8, 1]
  const %3 "sx" : f32[]
  %4 "d" : f32[5, 8] = map[%0, %3](f32(i32($0)) * $1)
  %5 "dw" : f32[8, 4] = map[%1, %2](f32(i32($0)) * $1)
  %6 "y" : f32[5, 4] = sum[n, m, k](%4[n, k] * %5[k, m]) -> [n, m] from "Gemm"
  output %6
})");
  const Program whole = integers_of(program);
  EXPECT_EQ(integer_share(whole).in_integers, 0);
}

} // namespace
} // namespace tilefuse::program
