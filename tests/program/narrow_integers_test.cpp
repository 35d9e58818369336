// SPDX-License-Identifier: Apache-2.0
// Products of integers read the narrowest type that holds them; values stay what they were.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/index.h"
#include "program/precision/narrow_integers.h"
#include "program/reference.h"

namespace tilefuse::program {
namespace {

// A product of `data` (%3, made by `map` from bytes and a zero point) and constant weights.
Program product(const std::string &map, const std::string &data = "u8",
                const std::string &type = "i32") {
  return testing::program_of(fmt::format(R"(program "p" {{
  input %0 "x" : {0}[5, 8]
  const %1 "w" : {2}[3, 8]
  const %2 "z" : {0}[]
  %3 "d" : {2}[5, 8] = map[%0, %2]({1})
  %4 "y" : {2}[5, 3] = sum[n, m, k](%3[n, k] * %1[m, k]) -> [n, m]
  output %4
}})",
                                         data, map, type));
}

void set(Program &program, int tensor, double value) {
  Tensor &constant = program.tensors[at(tensor)];
  Bytes bytes(constant.data->size());
  for (std::int64_t i = 0; i < elems(constant.shape); ++i)
    store_element(bytes.data(), constant.type, i, value);
  constant.data = std::make_shared<const Bytes>(std::move(bytes));
}

// Types of the operands of the product, which computes what it did.
std::string narrowed(const Program &program) {
  const Program result = narrow_integers(program);
  EXPECT_EQ(testing::run(result), testing::run(program));
  for (const Statement &statement : result.statements)
    if (const auto *body = std::get_if<Contraction>(&statement.body))
      return fmt::format("{} {}", to_string(result[body->in[0].tensor].type),
                         to_string(result[body->in[1].tensor].type));
  return "no product";
}

TEST(NarrowIntegers, BytesLessTheirZeroPointFitWords) {
  Program program = product("i32($0) - i32($1)");
  set(program, 2, 7);
  EXPECT_EQ(narrowed(program), "i16 i8");
  EXPECT_EQ(narrow_integers(program).statements.size(), 2U);
  set(program, 1, 200);
  EXPECT_EQ(narrowed(program), "i16 u8");
  set(program, 1, -300);
  EXPECT_EQ(narrowed(program), "i16 i16");
}

TEST(NarrowIntegers, WhatOnlyWidensIsUndone) {
  Program program = product("i32($0) - i32($1)");
  set(program, 2, 0);
  EXPECT_EQ(narrowed(program), "u8 i8");
  EXPECT_EQ(narrow_integers(program).statements.size(), 1U);
  EXPECT_EQ(narrowed(product("i32($0)", "i8")), "i8 i8");
}

TEST(NarrowIntegers, RangesFollowTheExpression) {
  Program program = product("max(min(i32($0) * 100, 30000), -30000) + i32($1)", "i8");
  set(program, 2, 1);
  EXPECT_EQ(narrowed(program), "i16 i8");
  set(program, 2, 0);
  EXPECT_EQ(narrowed(product("i32($0) * 1000")), "i32 i32");
  EXPECT_EQ(narrowed(product("i32($0) / 2")), "i32 i32");
  EXPECT_EQ(narrowed(product("i32(i8($0))")), "i32 i32"); // wraps
}

TEST(NarrowIntegers, WhatNeedsMoreBitsStays) {
  Program program = product("i32($0)");
  set(program, 1, 40000);
  EXPECT_EQ(narrowed(program), "i32 i32");
  EXPECT_EQ(narrowed(product("f32($0)", "u8", "f32")), "f32 f32");
  EXPECT_EQ(narrowed(product("i64($0)", "u8", "i64")), "i64 i64");
}

} // namespace
} // namespace tilefuse::program
