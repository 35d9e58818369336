// SPDX-License-Identifier: Apache-2.0
// The rule of every scalar operation, and the points at which rules need care.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "program/finite_difference.h"
#include "program/gradient/derivative.h"

namespace tilefuse::program {
namespace {

using testing::expect_gradients;
using testing::Values;

constexpr int kOps = static_cast<int>(ScalarOp::Select) + 1;
constexpr std::int64_t kElems = 5;

bool is_logic(ScalarOp op) {
  return op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not;
}

bool needs_positive(ScalarOp op) {
  return op == ScalarOp::Log || op == ScalarOp::Sqrt || op == ScalarOp::Pow;
}

bool is_flat(ScalarOp op) {
  return row(op).is_comparison || op == ScalarOp::Floor || op == ScalarOp::Ceil ||
         op == ScalarOp::Round;
}

// y = 2 * op(x0, x1, …) over vectors; truths are x > 0.5.
Program program_of(ScalarOp op, DType type) {
  Program program;
  program.name = "op";
  Map map;
  std::vector<Expr> args;
  for (int k = 0; k < row(op).arity; ++k) {
    const TensorId id = program.add(
        {.name = fmt::format("x{}", k), .type = type, .shape = {kElems}, .role = Role::Input});
    program.inputs.push_back(id);
    map.operands.push_back(id);
    const Expr leaf = operand(k, type);
    const bool is_truth = is_logic(op) || (op == ScalarOp::Select && k == 0);
    args.push_back(is_truth ? call(ScalarOp::Gt, {leaf, constant(0.5, type)}) : leaf);
  }
  map.expr = call(ScalarOp::Mul, {cast(call(op, args), type), constant(2, type)});
  const TensorId out = program.add({.name = "y", .type = type, .shape = {kElems}});
  program.statements.push_back({out, map, ""});
  program.outputs = {out};
  return program;
}

TEST(Derivative, OfEveryScalarOperationIsThatOfItsFunction) {
  for (int i = 0; i < kOps; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    SCOPED_TRACE(row(op).name);
    if (is_bitwise(op) || rounded_type(op))
      continue; // of whole numbers, which have no gradient; or flat where it does not jump
    for (DType type : {DType::F16, DType::F32, DType::F64})
      expect_gradients(program_of(op, type),
                       needs_positive(op) ? testing::positive_values : testing::any_values);
    const Program derived = testing::gradient_by_inputs(program_of(op, DType::F32));
    const bool is_zero = to_text(derived).find("= map[](0") != std::string::npos;
    EXPECT_EQ(is_zero, is_flat(op) || op == ScalarOp::Select);
  }
}

// The gradient of an expression of operands $0, $1, … at a point, by each of them.
Values gradient_at(const std::string &expr, const Values &point) {
  std::string text = "program \"at\" {\n";
  std::string operands;
  for (std::size_t k = 0; k < point.size(); ++k) {
    text += fmt::format("  input %{} \"x{}\" : f32[]\n", k, k);
    operands += fmt::format("{}%{}", k == 0 ? "" : ", ", k);
  }
  text += fmt::format("  %{0} \"y\" : f32[] = map[{1}]({2})\n  output %{0}\n}}\n", point.size(),
                      operands, expr);
  std::vector<Values> given;
  for (double value : point)
    given.push_back({value});
  given.push_back({1});
  Values result;
  for (const Values &values : testing::run(testing::gradient_by_inputs(parse_program(text)), given))
    result.push_back(values.at(0));
  return result;
}

TEST(Derivative, OfARoundingIsThatOfItsArgument) {
  EXPECT_EQ(gradient_at("f32(f16(round_f16($0 * 3)))", {1.0001}), (Values{3}));
  EXPECT_EQ(gradient_at("round_bf16($0) * 2", {70000}), (Values{2}));
}

TEST(Derivative, AtKinks) {
  EXPECT_EQ(gradient_at("max($0, 0)", {0}), (Values{0}));
  EXPECT_EQ(gradient_at("max(0, $0)", {0}), (Values{0}));
  EXPECT_EQ(gradient_at("min(max($0, 0), 6)", {3}), (Values{1}));
  EXPECT_EQ(gradient_at("min(max($0, 0), 6)", {6}), (Values{0}));
  EXPECT_EQ(gradient_at("min(max($0, 0), 6)", {-1}), (Values{0}));
  EXPECT_EQ(gradient_at("max($0, $1)", {2, 2}), (Values{1, 0}));
  EXPECT_EQ(gradient_at("min($0, $1)", {2, 2}), (Values{1, 0}));
  EXPECT_EQ(gradient_at("max($0, $1)", {1, 2}), (Values{0, 1}));
  EXPECT_EQ(gradient_at("abs($0)", {0}), (Values{0}));
  EXPECT_EQ(gradient_at("select($0 > 0, $0 * 3, $1)", {0, 5}), (Values{0, 1}));
}

TEST(Derivative, OfPowersAtZero) {
  EXPECT_EQ(gradient_at("pow($0, 2)", {0}), (Values{0}));
  EXPECT_EQ(gradient_at("pow($0, 1)", {0}), (Values{1}));
  EXPECT_EQ(gradient_at("pow($0, 0)", {0}), (Values{0}));
  EXPECT_EQ(gradient_at("pow($0, 3)", {-2}), (Values{12}));
  EXPECT_EQ(gradient_at("pow($0, $1)", {0, 2}), (Values{0, 0}));
  EXPECT_EQ(gradient_at("pow($0, $1)", {0, 0}), (Values{0, 0}));
  EXPECT_EQ(gradient_at("pow($0, $1)", {0, 1}), (Values{1, 0}));
  EXPECT_EQ(gradient_at("pow($0, $1)", {-3, 2}).at(0), -6);
}

TEST(Derivative, OfDivisionAndModulo) {
  EXPECT_EQ(gradient_at("$0 / $1", {6, 2}), (Values{0.5, -1.5}));
  EXPECT_EQ(gradient_at("mod($0, $1)", {7, 2}), (Values{1, -3}));
  EXPECT_EQ(gradient_at("mod($0, $1)", {-7, 2}), (Values{1, 3}));
}

// What overflows where it does not count leaves no trace.
TEST(Derivative, StaysFiniteBesideOverflow) {
  EXPECT_EQ(gradient_at("select($0 < 0, exp($0) - 1, $0)", {1000}), (Values{1}));
  EXPECT_EQ(gradient_at("1 / (1 + exp(neg($0)))", {-1000}), (Values{0}));
  EXPECT_EQ(gradient_at("1 / (1 + exp(neg($0)))", {1000}), (Values{0}));
  EXPECT_EQ(gradient_at("1 / (1 + exp(neg($0)))", {0}), (Values{0.25}));
  EXPECT_EQ(gradient_at("$0 / (1 + exp(neg($0)))", {-1000}), (Values{0}));
  EXPECT_EQ(gradient_at("$0 / (exp(neg($0)) + 1)", {1000}), (Values{1}));
  EXPECT_EQ(gradient_at("min($0, exp($0))", {1000}), (Values{1}));
}

TEST(Derivative, ReadsTheResultWhereThatIsShorter) {
  const auto text = [](const std::string &expr) {
    return to_text(testing::gradient_by_inputs(
        parse_program("program \"p\" {\n input %0 \"x\" : f32[4]\n %1 \"y\" : f32[4] = map[%0](" +
                      expr + ")\n output %1\n}")));
  };
  EXPECT_NE(text("exp($0)").find("map[%2, %1]($0 * $1)"), std::string::npos) << text("exp($0)");
  EXPECT_NE(text("tanh($0)").find("($0 * (1 - $1 * $1))"), std::string::npos) << text("tanh($0)");
  EXPECT_NE(text("sqrt($0)").find("($0 * 0.5 / $1)"), std::string::npos) << text("sqrt($0)");
  const std::string sigmoid = text("1 / (1 + exp(neg($0)))");
  EXPECT_EQ(sigmoid.find("exp", sigmoid.find("grad x")), std::string::npos) << sigmoid;
}

// Large expressions are differentiated in parts.
TEST(Derivative, OfALongExpression) {
  std::string product = "$0";
  std::string larger = "$0";
  for (int i = 0; i < 200; ++i) {
    product += " * $0";
    larger = fmt::format("max($0 + {}, {})", i % 7, larger);
  }
  EXPECT_EQ(gradient_at(product, {1}), (Values{201}));
  EXPECT_EQ(gradient_at(larger, {1}), (Values{1}));
}

} // namespace
} // namespace tilefuse::program
