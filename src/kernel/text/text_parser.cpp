// SPDX-License-Identifier: Apache-2.0
#include "kernel/text/text_parser.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/rules.h"
#include "kernel/text/text.h"
namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kMaxBlockSize = 1 << 16;

} // namespace

void TextParser::require(const std::string &broken_rule, const Token &at) const {
  if (!broken_rule.empty())
    throw Error(ErrorCode::Type, broken_rule, in_.where(at));
}

std::int64_t TextParser::ranged(std::string_view what, std::int64_t low, std::int64_t high) {
  const Token at = in_.peek();
  const std::int64_t value = in_.expect_integer(what);
  if (value < low || value > high) {
    throw Error(ErrorCode::Limit,
                fmt::format("{} needs to be from {} to {}; got {}", what, low, high, value),
                in_.where(at));
  }
  return value;
}

Kernel TextParser::run() {
  header();
  while (buffer()) {
  }
  while (in_.accept("tensor_map"))
    tensor_map();
  kernel_.body = body();
  if (!in_.at_end())
    in_.fail("the end of the text");
  return std::move(kernel_);
}

void TextParser::header() {
  in_.expect("kernel");
  const bool is_quoted = in_.peek().kind == TokenKind::String;
  kernel_.name =
      is_quoted ? in_.expect_string("the kernel's name") : in_.expect_name("the kernel's name");
  in_.expect("blocks");
  kernel_.blocks = ranged("the number of blocks", 1, kMaxBlocks);
  const Token at = in_.peek();
  if (in_.accept("cluster"))
    kernel_.cluster = ranged("the blocks of a cluster", 1, kMaxBlocks);
  in_.expect("block_size");
  kernel_.block_size = ranged("the block size", 1, kMaxBlockSize);
  require(shape_rule(kernel_), at);
  if (in_.accept("flops"))
    kernel_.flops = in_.expect_number("a number of operations");
  if (in_.accept("bytes"))
    kernel_.bytes = in_.expect_number("a number of bytes");
  in_.expect("{");
}

std::string TextParser::new_name() {
  const Token at = in_.peek();
  std::string name = in_.expect_name("a name");
  if (!is_identifier(name))
    throw Error(ErrorCode::Syntax, fmt::format("'{}' cannot be a name", name), in_.where(at));
  if (buffers_.contains(name) || variables_.contains(name) || maps_.contains(name)) {
    throw Error(ErrorCode::Syntax, fmt::format("'{}' is defined twice", name), in_.where(at));
  }
  return name;
}

bool TextParser::buffer() {
  Buffer buffer;
  if (in_.accept("global")) {
    buffer.counts = in_.accept("counts");
    buffer.fixed = in_.accept("fixed");
    buffer.written = buffer.counts || !(buffer.fixed || in_.accept("const"));
    if (!kernel_.buffers.empty() && kernel_.buffers.back().space != Space::Global)
      in_.fail("global buffers before all others");
  } else if (in_.accept("local")) {
    buffer.space = Space::Local;
  } else if (in_.accept("register")) {
    buffer.space = Space::Register;
  } else {
    return false;
  }
  const Token at = in_.peek();
  buffer.name = new_name();
  const auto type = parse_type(in_.peek().text);
  if (!type)
    in_.fail("an element type");
  buffer.type = *type;
  in_.next();
  in_.expect("[");
  buffer.elems = in_.expect_integer("a number of elements");
  if (in_.accept("*"))
    buffer.rows = static_cast<int>(ranged("a number of rows", 1, kMaxRows));
  in_.expect("]");
  require(buffer_rule(buffer), at);
  const std::string name = buffer.name;
  buffers_.emplace(name, to_.buffer(std::move(buffer)));
  return true;
}

StmtRef TextParser::body() {
  const Nesting nesting(*this);
  std::vector<StmtRef> list;
  while (!in_.accept("}"))
    list.push_back(stmt());
  return to_.block(std::move(list));
}

StmtRef TextParser::stmt() {
  if (in_.accept("let"))
    return let();
  if (in_.accept("for"))
    return loop(ForKind::Serial);
  if (in_.accept("unroll"))
    return loop(ForKind::Unroll);
  if (in_.accept("if"))
    return branch();
  if (in_.accept("barrier"))
    return barrier();
  if (in_.accept("prefetch"))
    return prefetch();
  const Token &word = in_.peek();
  if (word.kind != TokenKind::Name)
    return store();
  if (const Intrinsic *form = find_intrinsic(word.text))
    return intrinsic(*form);
  require(unknown_intrinsic(word.text), word);
  return store();
}

StmtRef TextParser::let() {
  const std::string name = new_name();
  in_.expect("=");
  const ExprRef value = expr();
  const VarId var = to_.variable(name, value->type);
  variables_.emplace(name, var);
  return to_.let(var, value);
}

StmtRef TextParser::loop(ForKind kind) {
  const std::string name = new_name();
  in_.expect("in");
  const ExprRef begin = int_expr("a loop's begin");
  in_.expect("..");
  const ExprRef end = int_expr("a loop's end");
  const std::int64_t step = in_.accept("step") ? ranged("a loop's step", 1, kMaxBlocks) : 1;
  const VarId var = to_.variable(name, kInt);
  variables_.emplace(name, var);
  in_.expect("{");
  const StmtRef inner = body();
  return to_.loop(var, kind, begin, end, step, inner);
}

StmtRef TextParser::branch() {
  const Token at = in_.peek();
  const ExprRef condition = expr();
  if (condition->type != Type{DType::Bool, 1}) {
    require(fmt::format("a condition needs bool; got {}", to_string(condition->type)), at);
  }
  in_.expect("{");
  const StmtRef then_body = body();
  if (!in_.accept("else"))
    return to_.branch(condition, then_body);
  in_.expect("{");
  return to_.branch(condition, then_body, body());
}

BufferId TextParser::buffer_name() {
  const auto found = buffers_.find(std::string(in_.peek().text));
  if (in_.peek().kind != TokenKind::Name || found == buffers_.end())
    in_.fail("the name of a buffer");
  in_.next();
  return found->second;
}

StmtRef TextParser::prefetch() {
  const RegisterRef at = element();
  return to_.prefetch(at.buffer, at.index);
}

StmtRef TextParser::barrier() {
  const Token at = in_.peek();
  if (in_.accept("warp"))
    return to_.barrier({.items = kWarpItems});
  if (in_.accept("cluster")) {
    require(barrier_rule(kernel_, {.items = kClusterItems}), at);
    return to_.barrier({.items = kClusterItems});
  }
  if (at.kind != TokenKind::Integer)
    return to_.barrier();
  Barrier barrier;
  barrier.id = static_cast<int>(ranged("a barrier's number", 1, kMaxBlockSize));
  barrier.items = in_.expect_integer("the work-items that reach the barrier");
  require(barrier_rule(kernel_, barrier), at);
  return to_.barrier(barrier);
}

RegisterRef TextParser::element() {
  const BufferId buffer = buffer_name();
  in_.expect("[");
  const ExprRef index = int_expr("an index");
  in_.expect("]");
  return {buffer, index};
}

StmtRef TextParser::store() {
  const Token at = in_.peek();
  const BufferId buffer = buffer_name();
  const Access to = access(buffer);
  in_.expect("=");
  const ExprRef value = expr();
  if (value->type.lanes != to.lanes) {
    require(
        fmt::format("a store of {} lanes needs as many; got {}", to.lanes, to_string(value->type)),
        at);
  }
  const Type *valid = to.valid != nullptr ? &to.valid->type : nullptr;
  require(access_rule(kernel_[buffer], to.index->type, to.lanes, to.stride, valid), at);
  require(store_rule(kernel_[buffer], value->type), at);
  return to_.store(buffer, to.index, value, to.stride, to.valid);
}

Kernel parse_kernel(std::string_view text, const std::string &file) {
  return TextParser(text, file).run();
}

} // namespace tilefuse::kernel
