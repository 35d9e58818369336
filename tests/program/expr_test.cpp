// SPDX-License-Identifier: Apache-2.0
#include "program/expr.h"

#include <random>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::program {
namespace {

const std::vector<DType> kTypes = {DType::F32, DType::F16, DType::I32, DType::I8, DType::Bool};

Expr parse(const std::string &text) {
  Scanner scanner(text, "expr");
  Expr expr = parse_expr(scanner, kTypes, DType::F32);
  EXPECT_TRUE(scanner.at_end()) << text;
  return expr;
}

DType type_of(ScalarOp op, DType a, DType b) {
  return call(op, {operand(0, a), operand(1, b)}).type;
}

TEST(Expr, PromotesToFloatThenWiderThenFirst) {
  EXPECT_EQ(type_of(ScalarOp::Add, DType::F16, DType::I64), DType::F16);
  EXPECT_EQ(type_of(ScalarOp::Add, DType::F16, DType::F32), DType::F32);
  EXPECT_EQ(type_of(ScalarOp::Add, DType::F16, DType::BF16), DType::F16);
  EXPECT_EQ(type_of(ScalarOp::Add, DType::BF16, DType::F16), DType::BF16);
  EXPECT_EQ(type_of(ScalarOp::Mul, DType::I8, DType::I32), DType::I32);
  EXPECT_EQ(type_of(ScalarOp::Mul, DType::Bool, DType::U8), DType::U8);
  EXPECT_EQ(type_of(ScalarOp::Lt, DType::F32, DType::I32), DType::Bool);
  EXPECT_EQ(type_of(ScalarOp::And, DType::F32, DType::I32), DType::Bool);
}

TEST(Expr, CastsArgumentsToThePromotedType) {
  const Expr sum = call(ScalarOp::Add, {operand(0, DType::F32), operand(1, DType::I8)});
  EXPECT_EQ(sum.args[1], cast(operand(1, DType::I8), DType::F32));
  EXPECT_EQ(sum.args[1].kind, Expr::Kind::Cast);
  const Expr less = call(ScalarOp::Lt, {operand(0, DType::F16), operand(1, DType::I8)});
  EXPECT_EQ(less.args[1].type, DType::F16);
}

TEST(Expr, ConstantsTakeTheTypeOfTheirNeighbours) {
  const Expr sum = call(ScalarOp::Add, {operand(0, DType::I32), constant(2, DType::F32)});
  EXPECT_EQ(sum.type, DType::I32);
  EXPECT_EQ(sum.args[1], constant(2, DType::I32));
  const Expr half = call(ScalarOp::Add, {operand(0, DType::I32), constant(0.5, DType::F32)});
  EXPECT_EQ(half.type, DType::F32);
  EXPECT_EQ(half.args[0].kind, Expr::Kind::Cast);
  EXPECT_EQ(call(ScalarOp::Max, {constant(1, DType::F16), constant(2, DType::F16)}).type,
            DType::F16);
}

TEST(Expr, SelectTakesItsTypeFromItsValues) {
  const Expr pick = call(ScalarOp::Select,
                         {operand(0, DType::F32), operand(1, DType::I8), constant(0, DType::F32)});
  EXPECT_EQ(pick.type, DType::I8);
  EXPECT_EQ(pick.args[0].type, DType::Bool);
}

TEST(Expr, FloatFunctionsOfIntegersAreFloatAndRoundingIsNothing) {
  EXPECT_EQ(call(ScalarOp::Exp, {operand(0, DType::I32)}).type, DType::F32);
  EXPECT_EQ(call(ScalarOp::Exp, {operand(0, DType::F16)}).type, DType::F16);
  EXPECT_EQ(call(ScalarOp::Floor, {operand(0, DType::I32)}), operand(0, DType::I32));
}

TEST(Expr, BitOperationsTakeIntegers) {
  EXPECT_EQ(type_of(ScalarOp::BitAnd, DType::I8, DType::I32), DType::I32);
  const Expr mask = call(ScalarOp::BitXor, {operand(0, DType::U8), constant(7, DType::F32)});
  EXPECT_EQ(mask.args[1], constant(7, DType::U8));
  EXPECT_EQ(call(ScalarOp::BitXor, {operand(0, DType::Bool), operand(1, DType::Bool)}),
            call(ScalarOp::Ne, {operand(0, DType::Bool), operand(1, DType::Bool)}));
  EXPECT_THROW(type_of(ScalarOp::BitOr, DType::F32, DType::I32), Error);
  EXPECT_THROW(type_of(ScalarOp::BitLeft, DType::Bool, DType::Bool), Error);
}

TEST(Expr, WrongArityIsAnError) {
  EXPECT_THROW(call(ScalarOp::Add, {operand(0, DType::F32)}), Error);
  EXPECT_THROW(call(ScalarOp::Neg, {}), Error);
  EXPECT_THROW(call(ScalarOp::Select, {operand(0, DType::F32), operand(0, DType::F32)}), Error);
}

TEST(Expr, TextFollowsPrecedence) {
  const std::vector<std::string> texts = {"acc + $0 * 2",
                                          "(acc + $0) * 2",
                                          "acc - ($0 - 1)",
                                          "acc - $0 - 1",
                                          "max(acc + f32($1), 0)",
                                          "select(acc < 0 || acc >= 6 && $4, exp(acc), -1.5)",
                                          "$2 + 1",
                                          "f32($2) + 0.5",
                                          "0.5:f16",
                                          "max(1:i8, 2:i8)",
                                          "inf",
                                          "-inf",
                                          "nan",
                                          "1e+30",
                                          "acc - -2",
                                          "i32(0.5)",
                                          "(acc < 0) == $4",
                                          "acc % 2 / 3",
                                          "neg(acc)"};
  for (const std::string &text : texts) {
    if (text == "(acc < 0) == $4")
      continue;
    EXPECT_EQ(to_text(parse(text)), text);
  }
  EXPECT_EQ(to_text(parse("(acc < 0) == $4")), "acc < 0 == $4");
  EXPECT_EQ(to_text(parse("acc + 0")), "acc + 0");
}

Expr random_expr(std::mt19937 &random, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  if (depth == 0 || pick(5) == 0) {
    if (pick(4) == 0)
      return acc(DType::F32);
    if (pick(2) == 0)
      return constant((pick(9) - 4) * 0.5, kTypes[at(pick(2))]);
    const auto position = static_cast<std::size_t>(pick(5));
    return operand(static_cast<int>(position), kTypes[position]);
  }
  if (pick(6) == 0)
    return cast(random_expr(random, depth - 1), kTypes[at(pick(5))]);
  const auto op = static_cast<ScalarOp>(pick(static_cast<int>(ScalarOp::Select) + 1));
  std::vector<Expr> args;
  for (int i = 0; i < row(op).arity; ++i) {
    args.push_back(random_expr(random, depth - 1));
    if (is_bitwise(op))
      args.back() = cast(std::move(args.back()), DType::I32);
  }
  return call(op, std::move(args));
}

TEST(Expr, RandomExpressionsRoundTripByValue) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const Expr expr = random_expr(random, 5);
    EXPECT_EQ(parse(to_text(expr)), expr) << to_text(expr);
  }
}

TEST(Expr, MalformedTextIsAnError) {
  for (const char *text :
       {"", "(", "acc +", "$9", "$", "foo(acc)", "max(acc)", "max(acc, 1, 2)", "f32(acc, 1)",
        "1:f33", "max(acc, 1", "%0", "acc ** 2", "$99999999999999999999"}) {
    Scanner scanner(text, "expr");
    EXPECT_THROW(
        {
          parse_expr(scanner, kTypes, DType::F32);
          if (!scanner.at_end())
            scanner.fail("the end");
        },
        Error)
        << text;
  }
  Scanner no_acc("acc", "expr");
  EXPECT_THROW(parse_expr(no_acc, kTypes, std::nullopt), Error);
}

TEST(Expr, DeepAndLongTextsAreErrors) {
  const std::string deep = std::string(100000, '(') + "acc";
  Scanner deep_scanner(deep, "expr");
  EXPECT_THROW(parse_expr(deep_scanner, kTypes, DType::F32), Error);
  std::string lengthy = "acc";
  for (int i = 0; i < 100000; ++i)
    lengthy += " + acc";
  Scanner long_scanner(lengthy, "expr");
  EXPECT_THROW(parse_expr(long_scanner, kTypes, DType::F32), Error);
}

} // namespace
} // namespace tilefuse::program
