// SPDX-License-Identifier: Apache-2.0
// Divisions that two products stand for, integers that stay floats, and between which numbers values lie.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "base/scanner.h"
#include "program/known_division.h"
#include "program/precision/held_integers.h"
#include "program/value_range.h"

namespace tilefuse::program {
namespace {

// Of an f32, a u8 and an accumulator of i32.
Expr read(const std::string &text) {
  constexpr std::array kTypes = {DType::F32, DType::U8};
  Scanner scanner(text, "expr");
  return parse_expr(scanner, kTypes, DType::I32);
}

TEST(KnownDivision, IsOneThatIsRoundedAtOnce) {
  EXPECT_TRUE(known_division(read("round($0 / 0.3)")));
  EXPECT_TRUE(known_division(read("round(f32($1) / 0.3)")));
  EXPECT_TRUE(known_division(read("round(min(max($0 / 0.3, -124), 131))")));
  EXPECT_FALSE(known_division(read("round(min(max($0, -124), 131) * 0.3)")));
  EXPECT_FALSE(known_division(read("round(max($0 / 0.3, f32($1)))")));
  EXPECT_FALSE(known_division(read("$0 / 0.3")));
  EXPECT_FALSE(known_division(read("round($0 / f32($1))")));
  EXPECT_FALSE(known_division(read("round($0 * 0.3)")));
  EXPECT_FALSE(known_division(read("floor($0 / 0.3)")));
}

TEST(HeldIntegers, StayFloats) {
  EXPECT_EQ(to_text(held_integers(read("f32(i32(u8(round($0) + 113)) + -113) * 0.5"))),
            "round(min(max($0, -113), 142)) * 0.5");
  EXPECT_EQ(to_text(held_integers(read("f32(u8(round($0)))"))), "round(min(max($0, 0), 255))");
  EXPECT_EQ(to_text(held_integers(read("f32(i32(i8(min(round($0), 100))) + 3)"))),
            "round(min(max($0, -128), 100)) + 3");
  EXPECT_EQ(to_text(held_integers(read("f32(i32($1) + -113)"))), "f32($1) + -113");
  EXPECT_EQ(to_text(held_integers(read("u8(round($0) + 113)"))),
            "u8(round(min(max($0, -113), 142)) + 113)");
}

TEST(HeldIntegers, OthersStayWhatTheyAre) {
  for (const char *text :
       {"u8(round($0))", "i32($1) + -113", "f32(u8($0))", "f32(i32($1) + 5000000)"})
    EXPECT_EQ(to_text(held_integers(read(text))), text);
}

TEST(ValueRange, FollowsTypesAndConstants) {
  const auto range = [](const std::string &text) {
    const ValueRange found = value_range(read(text));
    return std::pair(found.low, found.high);
  };
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(range("$0"), std::pair(-kInf, kInf));
  EXPECT_EQ(range("f32(i32($1) + -7)"), std::pair(-7.0, 248.0));
  EXPECT_EQ(range("min(max($0, -113), 142)"), std::pair(-113.0, 142.0));
  EXPECT_EQ(range("f32(i32($1) + -100) * -2"), std::pair(-310.0, 200.0));
  EXPECT_EQ(range("abs(f32(i32($1) + -100)) - 1"), std::pair(-1.0, 154.0));
  EXPECT_EQ(range("neg(round(min(max($0, 0), 1.5)))"), std::pair(-2.0, 0.0));
  EXPECT_EQ(range("$0 * 0"), std::pair(-kInf, kInf));
  EXPECT_EQ(range("acc * 2"), range("acc")) << "which wraps";
}

} // namespace
} // namespace tilefuse::program
