// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "tile/parser.h"

namespace tilefuse::tile {
namespace {

// Infix operators by level, loosest first; comparisons do not chain.
struct Infix {
  std::string_view text;
  ScalarOp op;
  std::size_t level;
};
constexpr std::array<Infix, 17> kInfix = {{
    {"||", ScalarOp::Or, 0},
    {"&&", ScalarOp::And, 1},
    {"|", ScalarOp::BitOr, 2},
    {"^", ScalarOp::BitXor, 3},
    {"&", ScalarOp::BitAnd, 4},
    {"==", ScalarOp::Eq, 5},
    {"!=", ScalarOp::Ne, 5},
    {"<", ScalarOp::Lt, 6},
    {"<=", ScalarOp::Le, 6},
    {">", ScalarOp::Gt, 6},
    {">=", ScalarOp::Ge, 6},
    {"<<", ScalarOp::BitLeft, 7},
    {">>", ScalarOp::BitRight, 7},
    {"+", ScalarOp::Add, 8},
    {"-", ScalarOp::Sub, 8},
    {"*", ScalarOp::Mul, 9},
    {"/", ScalarOp::Div, 9},
}};
constexpr std::size_t kSumLevel = 8;
constexpr std::size_t kLevels = 10;

bool chains(std::size_t level) { return level != 5 && level != 6; }

std::optional<ScalarOp> operator_at(const Cursor &cursor, std::size_t level) {
  for (const Infix &infix : kInfix)
    if (infix.level == level && cursor.is(infix.text))
      return infix.op;
  return std::nullopt;
}

bool is_keyword(std::string_view name) { return name == "default" || name == "no_defract"; }

} // namespace

std::optional<Expression> ExpressionParser::unexpected(std::string_view expected) {
  diagnostics_.add(cursor_.at(),
                   fmt::format("expected {}, got {}", expected, shown(cursor_.peek())));
  return std::nullopt;
}

std::optional<Expression> ExpressionParser::too_deep(Position at) {
  diagnostics_.add(at, fmt::format("the expression is nested deeper than {} levels", kMaxDepth));
  return std::nullopt;
}

std::optional<Expression> ExpressionParser::operation(Position at, ScalarOp op,
                                                      std::vector<Expression> args) {
  Expression result;
  result.kind = Expression::Kind::Operation;
  result.at = at;
  result.op = op;
  for (const Expression &arg : args)
    result.depth = std::max(result.depth, arg.depth + 1);
  result.args = std::move(args);
  if (result.depth > kMaxDepth)
    return too_deep(at);
  return result;
}

std::optional<Expression> ExpressionParser::expression() {
  std::optional<Expression> condition = binary(0);
  if (!condition || !cursor_.is("?"))
    return condition;
  const Position at = cursor_.at();
  if (depth_ >= kMaxDepth)
    return too_deep(at);
  cursor_.next();
  ++depth_;
  std::optional<Expression> yes = expression();
  if (yes && !cursor_.accept(":"))
    yes = unexpected("':' of '?:'");
  std::optional<Expression> no = yes ? expression() : std::nullopt;
  --depth_;
  if (!no)
    return std::nullopt;
  std::vector<Expression> args;
  args.push_back(std::move(*condition));
  args.push_back(std::move(*yes));
  args.push_back(std::move(*no));
  return operation(at, ScalarOp::Select, std::move(args));
}

std::optional<Expression> ExpressionParser::sum() { return binary(kSumLevel); }

std::optional<Expression> ExpressionParser::binary(std::size_t level) {
  if (level == kLevels)
    return unary();
  std::optional<Expression> left = binary(level + 1);
  while (left) {
    const std::optional<ScalarOp> op = operator_at(cursor_, level);
    if (!op)
      break;
    const Position at = cursor_.at();
    cursor_.next();
    std::optional<Expression> right = binary(level + 1);
    if (!right)
      return std::nullopt;
    std::vector<Expression> args;
    args.push_back(std::move(*left));
    args.push_back(std::move(*right));
    left = operation(at, *op, std::move(args));
    if (!chains(level))
      break;
  }
  return left;
}

std::optional<Expression> ExpressionParser::unary() {
  if (!cursor_.is("-") && !cursor_.is("~"))
    return primary();
  const ScalarOp op = cursor_.is("-") ? ScalarOp::Neg : ScalarOp::BitNot;
  const Position at = cursor_.at();
  if (depth_ >= kMaxDepth)
    return too_deep(at);
  cursor_.next();
  ++depth_;
  std::optional<Expression> value = unary();
  --depth_;
  if (!value)
    return std::nullopt;
  std::vector<Expression> args;
  args.push_back(std::move(*value));
  return operation(at, op, std::move(args));
}

std::optional<Expression> ExpressionParser::primary() {
  const Token &token = cursor_.peek();
  if (token.kind == TokenKind::Integer || token.kind == TokenKind::Float)
    return multiple();
  if (token.kind == TokenKind::Name && cursor_.peek(1).kind == TokenKind::Punct &&
      cursor_.peek(1).text == "(")
    return call();
  if (token.kind == TokenKind::Name)
    return name();
  if (!cursor_.is("("))
    return unexpected("a number, a name or '('");
  if (depth_ >= kMaxDepth)
    return too_deep(cursor_.at());
  cursor_.next();
  ++depth_;
  std::optional<Expression> inner = expression();
  --depth_;
  if (inner && !cursor_.accept(")"))
    return unexpected("')'");
  return inner;
}

Expression ExpressionParser::name() {
  Expression result;
  result.kind = Expression::Kind::Name;
  result.at = cursor_.at();
  result.name = spelled(cursor_.next());
  return result;
}

// A number, or 2i for 2*i.
std::optional<Expression> ExpressionParser::multiple() {
  const bool whole = cursor_.peek().kind == TokenKind::Integer;
  const Position at = cursor_.at();
  std::optional<Expression> factor = number();
  const Token &next = cursor_.peek();
  const bool index = whole && next.kind == TokenKind::Name && is_lower_name(next.text) &&
                     !is_keyword(next.text) && cursor_.peek(1).text != "(";
  if (!factor || !index)
    return factor;
  std::vector<Expression> args;
  args.push_back(std::move(*factor));
  args.push_back(name());
  return operation(at, ScalarOp::Mul, std::move(args));
}

std::optional<Expression> ExpressionParser::number() {
  Expression result;
  result.at = cursor_.at();
  const std::string_view text = cursor_.peek().text;
  const char *end = text.data() + text.size();
  std::errc problem{};
  if (cursor_.peek().kind == TokenKind::Integer) {
    problem = std::from_chars(text.data(), end, result.integer).ec;
  } else {
    result.kind = Expression::Kind::Number;
    problem = std::from_chars(text.data(), end, result.number).ec;
  }
  if (problem != std::errc())
    return unexpected("a number in range");
  cursor_.next();
  return result;
}

std::optional<Expression> ExpressionParser::call() {
  Expression result;
  result.kind = Expression::Kind::Call;
  result.at = cursor_.at();
  if (depth_ >= kMaxDepth)
    return too_deep(result.at);
  result.name = spelled(cursor_.next());
  cursor_.next();
  ++depth_;
  const bool good = arguments(result);
  --depth_;
  if (!good)
    return std::nullopt;
  for (const Expression &arg : result.args)
    result.depth = std::max(result.depth, arg.depth + 1);
  if (result.depth > kMaxDepth)
    return too_deep(result.at);
  return result;
}

bool ExpressionParser::arguments(Expression &call) {
  while (!cursor_.is(")") && !cursor_.is(";")) {
    std::optional<Expression> arg = expression();
    if (!arg)
      return false;
    call.args.push_back(std::move(*arg));
    if (!cursor_.accept(","))
      break;
  }
  if (cursor_.accept(";") && !attribute_arguments(call))
    return false;
  if (cursor_.accept(")"))
    return true;
  unexpected("',' or ')'");
  return false;
}

bool ExpressionParser::attribute_arguments(Expression &call) {
  do {
    if (cursor_.peek().kind != TokenKind::Name) {
      unexpected("the name of an attribute");
      return false;
    }
    call.attributes.push_back(spelled(cursor_.next()));
    if (!cursor_.accept("=")) {
      unexpected("'='");
      return false;
    }
    std::optional<Expression> value = expression();
    if (!value)
      return false;
    call.args.push_back(std::move(*value));
  } while (cursor_.accept(","));
  return true;
}

} // namespace tilefuse::tile
