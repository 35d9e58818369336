// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/rules.h"
#include "kernel/text/text_parser.h"

namespace tilefuse::kernel {
namespace {

constexpr int kMaxDepth = 400;

} // namespace

std::optional<Type> parse_type(std::string_view name) {
  const std::size_t cross = name.rfind('x');
  const auto elem = parse_dtype(name.substr(0, cross));
  if (!elem)
    return std::nullopt;
  if (cross == std::string_view::npos)
    return Type{*elem, 1};
  int lanes = 0;
  const char *end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + cross + 1, end, lanes);
  if (result.ec != std::errc() || result.ptr != end || lanes < 2 || lanes > kMaxLanes)
    return std::nullopt;
  return Type{*elem, lanes};
}

void TextParser::deeper() {
  if (++depth_ > kMaxDepth) {
    throw Error(ErrorCode::Limit, fmt::format("nested more than {} deep", kMaxDepth),
                in_.where(in_.peek()));
  }
}

ExprRef TextParser::int_expr(std::string_view what) {
  const Token at = in_.peek();
  const ExprRef value = expr();
  if (value->type != kInt)
    require(fmt::format("{} needs i32; got {}", what, to_string(value->type)), at);
  return value;
}

Access TextParser::access(BufferId buffer, bool may_be_remote) {
  in_.expect("[");
  Access access{buffer, int_expr("an index")};
  if (kernel_[buffer].space == Space::Register)
    access.lanes = kernel_[buffer].type.lanes;
  if (in_.accept("..")) {
    access.lanes = static_cast<int>(ranged("the lanes of an access", 1, kMaxLanes));
    if (in_.accept(":"))
      access.stride = in_.expect_integer("a lane stride");
  }
  if (in_.accept("valid"))
    access.valid = int_expr("`valid`");
  if (access.valid != nullptr && in_.accept("fill"))
    access.fill = in_.expect_number("a fill value");
  if (may_be_remote && in_.accept("rank"))
    access.rank = int_expr("the rank of a block");
  in_.expect("]");
  return access;
}

ExprRef TextParser::apply(ScalarOp op, std::vector<ExprRef> args, const Token &at) {
  std::vector<Type> types;
  for (const ExprRef arg : args)
    types.push_back(arg->type);
  require(scalar_rule(op, types), at);
  return to_.scalar(op, std::move(args));
}

// Operators of at least `level`, by precedence climbing. Every operator of a chain deepens the tree
// by one.
ExprRef TextParser::expr(int level) {
  const Nesting nesting(*this);
  const int before = depth_;
  ExprRef left = primary();
  for (;;) {
    const Token at = in_.peek();
    const auto op = at.kind == TokenKind::Punct ? parse_infix(at.text) : std::nullopt;
    if (!op || row(*op).binding < level)
      break;
    in_.next();
    deeper();
    const ExprRef right = expr(row(*op).binding + 1);
    left = apply(*op, {left, right}, at);
  }
  depth_ = before;
  return left;
}

ExprRef TextParser::primary() {
  const TokenKind kind = in_.peek().kind;
  if (in_.accept("(")) {
    const ExprRef inner = expr();
    in_.expect(")");
    return inner;
  }
  if (kind == TokenKind::Integer || in_.is("-"))
    return to_.integer(in_.expect_integer("an integer"));
  if (in_.accept("block"))
    return to_.block();
  if (in_.accept("lane"))
    return to_.lane();
  if (kind != TokenKind::Name)
    in_.fail("an expression");
  return name();
}

ExprRef TextParser::name() {
  const std::string text(in_.peek().text);
  if (const auto variable = variables_.find(text); variable != variables_.end()) {
    in_.next();
    return to_.var(variable->second);
  }
  if (buffers_.contains(text))
    return load(buffer_name());
  return call();
}

ExprRef TextParser::load(BufferId buffer) {
  const Token at = in_.peek();
  const Access from = access(buffer, true);
  const Type *valid = from.valid != nullptr ? &from.valid->type : nullptr;
  require(access_rule(kernel_[buffer], from.index->type, from.lanes, from.stride, valid), at);
  if (from.rank == nullptr)
    return to_.load(buffer, from.index, from.lanes, from.stride, from.valid, from.fill);
  require(remote_load_rule(kernel_, {.buffer = buffer,
                                     .index = from.index,
                                     .lane_stride = from.stride,
                                     .valid = from.valid,
                                     .rank = from.rank}),
          at);
  return to_.remote_load(buffer, from.index, from.lanes, from.rank);
}

ExprRef TextParser::call() {
  const Token at = in_.peek();
  const auto type = parse_type(at.text);
  const auto op = parse_scalar_op(at.text);
  const DotOp *dot = find_dot_op(at.text);
  if (!type && !op && dot == nullptr && at.text != "fma" && at.text != "broadcast")
    in_.fail("a name that is defined");
  in_.next();
  in_.expect("(");
  if (type)
    return typed(*type);
  std::vector<ExprRef> args{expr()};
  if (at.text == "broadcast") {
    in_.expect(",");
    const int lanes = static_cast<int>(ranged("the lanes of a broadcast", 1, kMaxLanes));
    in_.expect(")");
    require(broadcast_rule(args[0]->type, lanes), at);
    return to_.broadcast(args[0], lanes);
  }
  while (in_.accept(","))
    args.push_back(expr());
  in_.expect(")");
  if (op)
    return apply(*op, std::move(args), at);
  if (args.size() != 3)
    require(fmt::format("{} needs 3 arguments; got {}", at.text, args.size()), at);
  if (dot != nullptr) {
    require(dot_rule(*dot, args[0]->type, args[1]->type, args[2]->type), at);
    return to_.dot(*dot, args[0], args[1], args[2]);
  }
  require(fma_rule(args[0]->type, args[1]->type, args[2]->type), at);
  return to_.fma(args[0], args[1], args[2]);
}

// After TYPE '(': a literal is a constant, anything else is cast.
ExprRef TextParser::typed(Type type) {
  const Token at = in_.peek();
  const bool is_number = at.kind == TokenKind::Integer || at.kind == TokenKind::Float;
  if (is_number || in_.is("-") || in_.is("inf") || in_.is("nan")) {
    const double value = in_.expect_number("a number");
    in_.expect(")");
    return to_.real(value, type);
  }
  const ExprRef value = expr();
  in_.expect(")");
  if (value->type.lanes != type.lanes) {
    require(fmt::format("a cast to {} needs as many lanes; got {}", to_string(type),
                        to_string(value->type)),
            at);
  }
  return to_.cast(value, type.elem);
}

} // namespace tilefuse::kernel
