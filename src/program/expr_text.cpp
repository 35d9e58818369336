// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "program/expr.h"

namespace tilefuse::program {
namespace {

using Kind = Expr::Kind;

constexpr int kMaxNodes = 4096; // of one expression's text; bounds recursion
constexpr int kMaxNesting = 256;
constexpr int kPrimary = 7;

// Binding strength of an operation in text; kPrimary for everything written as a function.
int precedence(ScalarOp op) { return row(op).binding > 0 ? row(op).binding : kPrimary; }

std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

// A constant argument needs no type where a neighbour or the position gives it one.
bool has_implied_type(const Expr &parent, const Expr &arg) {
  if (parent.kind != Kind::Call)
    return false;
  if (arg.type == DType::Bool && (parent.op == ScalarOp::Select || parent.type == DType::Bool)) {
    const bool logical =
        parent.op == ScalarOp::And || parent.op == ScalarOp::Or || parent.op == ScalarOp::Not;
    if (logical || (parent.op == ScalarOp::Select && &arg == parent.args.data()))
      return true;
  }
  const std::size_t first = parent.op == ScalarOp::Select ? 1 : 0;
  return std::any_of(parent.args.begin() + static_cast<std::ptrdiff_t>(first), parent.args.end(),
                     [](const Expr &other) { return other.kind != Kind::Const; });
}

std::string text_of(const Expr &expr, const Expr *parent);

std::string list_text(const Expr &expr) {
  std::string text;
  for (const Expr &arg : expr.args)
    text += (text.empty() ? "" : ", ") + text_of(arg, &expr);
  return text;
}

std::string infix_text(const Expr &expr) {
  const auto side = [&](const Expr &arg, int least) {
    const bool tight = arg.kind != Kind::Call || precedence(arg.op) >= least;
    const std::string text = text_of(arg, &expr);
    return tight ? text : "(" + text + ")";
  };
  const int strength = precedence(expr.op);
  return fmt::format("{} {} {}", side(expr.args[0], strength), row(expr.op).infix,
                     side(expr.args[1], strength + 1));
}

std::string text_of(const Expr &expr, const Expr *parent) {
  switch (expr.kind) {
  case Kind::Operand:
    return fmt::format("${}", expr.operand);
  case Kind::Acc:
    return "acc";
  case Kind::Cast:
    return fmt::format("{}({})", to_string(expr.type), list_text(expr));
  case Kind::Const: {
    const bool bare = expr.type == DType::F32 || (parent && has_implied_type(*parent, expr));
    return number_text(expr.value) + (bare ? "" : fmt::format(":{}", to_string(expr.type)));
  }
  case Kind::Call:
    break;
  }
  if (precedence(expr.op) < kPrimary)
    return infix_text(expr);
  return fmt::format("{}({})", row(expr.op).name, list_text(expr));
}

class Parser {
public:
  Parser(Scanner &scanner, std::span<const DType> operands, std::optional<DType> acc)
      : scanner_(scanner), operands_(operands), acc_(acc) {}

  Expr parse(int least) {
    if (++depth_ > kMaxNesting)
      refuse("the expression nests too deeply");
    Expr left = primary();
    while (const auto op = parse_infix(scanner_.peek().text)) {
      const int strength = precedence(*op);
      if (strength < least)
        break;
      scanner_.next();
      count();
      Expr right = parse(strength + 1);
      left = call(*op, {std::move(left), std::move(right)});
    }
    --depth_;
    return left;
  }

private:
  [[noreturn]] void refuse(std::string message) const {
    throw Error(ErrorCode::Syntax, std::move(message), scanner_.where(scanner_.peek()));
  }

  void count() {
    if (++nodes_ > kMaxNodes)
      refuse(fmt::format("the expression has more than {} terms", kMaxNodes));
  }

  Expr primary() {
    count();
    if (scanner_.accept("(")) {
      Expr inner = parse(1);
      scanner_.expect(")");
      return inner;
    }
    const Token &token = scanner_.peek();
    const bool word = token.kind == TokenKind::Name && token.text != "inf" && token.text != "nan";
    if (!word)
      return number();
    if (token.text.front() == '$')
      return operand_leaf();
    if (scanner_.is("acc") && acc_) {
      scanner_.next();
      return acc(*acc_);
    }
    return function();
  }

  Expr number() {
    const double value = scanner_.expect_number("an expression");
    if (!scanner_.accept(":"))
      return constant(value, DType::F32);
    const auto type = parse_dtype(scanner_.peek().text);
    if (!type)
      scanner_.fail("a type");
    scanner_.next();
    return constant(value, *type);
  }

  Expr operand_leaf() {
    const std::string_view digits = scanner_.peek().text.substr(1);
    std::size_t position = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), position);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        position >= operands_.size())
      scanner_.fail(fmt::format("an operand below ${}", operands_.size()));
    scanner_.next();
    return operand(static_cast<int>(position), operands_[position]);
  }

  Expr function() {
    const Token name = scanner_.peek();
    const auto type = parse_dtype(name.text);
    const auto op = parse_scalar_op(name.text);
    if (!type && !op)
      scanner_.fail("an operand, a number or a function");
    scanner_.next();
    scanner_.expect("(");
    std::vector<Expr> args;
    do
      args.push_back(parse(1));
    while (scanner_.accept(","));
    scanner_.expect(")");
    const int arity = type ? 1 : row(*op).arity;
    if (static_cast<int>(args.size()) != arity)
      throw Error(ErrorCode::Type,
                  fmt::format("{} takes {} arguments, got {}", name.text, arity, args.size()),
                  scanner_.where(name));
    return type ? cast(std::move(args.front()), *type) : call(*op, std::move(args));
  }

  Scanner &scanner_;
  std::span<const DType> operands_;
  std::optional<DType> acc_;
  int depth_ = 0;
  int nodes_ = 0;
};

} // namespace

std::string to_text(const Expr &expr) { return text_of(expr, nullptr); }

Expr parse_expr(Scanner &scanner, std::span<const DType> operands, std::optional<DType> acc) {
  return Parser(scanner, operands, acc).parse(1);
}

} // namespace tilefuse::program
