// SPDX-License-Identifier: Apache-2.0
#include "kernel/walk.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace tilefuse::kernel {
namespace {

template <class... Handlers> struct Match : Handlers... { using Handlers::operator()...; };

void push_present(std::vector<ExprRef> &list, ExprRef expr) {
  if (expr != nullptr)
    list.push_back(expr);
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// What a node holds besides its children.
bool same_data(ExprRef a, ExprRef b) {
  return std::visit(
      Match{
          [&](const Const &node) { return same_bits(node.value, std::get<Const>(b->node).value); },
          [&](const VarRef &node) { return node.var == std::get<VarRef>(b->node).var; },
          [&](const BlockIndex &) { return true; },
          [&](const LaneIndex &) { return true; },
          [&](const Scalar &node) { return node.op == std::get<Scalar>(b->node).op; },
          [&](const Fma &) { return true; },
          [&](const Dot &node) { return node.op == std::get<Dot>(b->node).op; },
          [&](const Cast &) { return true; },
          [&](const Broadcast &) { return true; },
          // Memory changes between two loads.
          [&](const Load &) { return false; },
      },
      a->node);
}

} // namespace

std::vector<ExprRef> children(ExprRef expr) {
  using List = std::vector<ExprRef>;
  return std::visit(Match{
                        [](const Const &) { return List{}; },
                        [](const VarRef &) { return List{}; },
                        [](const BlockIndex &) { return List{}; },
                        [](const LaneIndex &) { return List{}; },
                        [](const Scalar &node) { return node.args; },
                        [](const Fma &node) {
                          return List{node.a, node.b, node.c};
                        },
                        [](const Dot &node) {
                          return List{node.a, node.b, node.c};
                        },
                        [](const Cast &node) { return List{node.value}; },
                        [](const Broadcast &node) { return List{node.value}; },
                        [](const Load &node) {
                          List list{node.index};
                          push_present(list, node.valid);
                          push_present(list, node.rank);
                          return list;
                        },
                    },
                    expr->node);
}

std::vector<ExprRef> expressions(const Intrinsic &node) {
  std::vector<ExprRef> list;
  for (const Operand &operand : operands(node))
    std::visit(
        Match{
            [&](const ElementOperand &at) { list.push_back(*at.index); },
            [&](const RunOperand &at) {
              list.push_back(*at.index);
              push_present(list, *at.valid);
            },
            [&](const ExprOperand &at) { push_present(list, *at.at); },
            [&](const ListOperand &at) { list.insert(list.end(), at.at->begin(), at.at->end()); },
            [](const NumberOperand &) {},
            [](const MapId *) {},
            [](const bool *) {},
        },
        operand.at);
  return list;
}

std::vector<ExprRef> expressions(StmtRef stmt) {
  using List = std::vector<ExprRef>;
  return std::visit(Match{
                        [](const Block &) { return List{}; },
                        [](const Let &node) { return List{node.value}; },
                        [](const For &node) {
                          return List{node.begin, node.end};
                        },
                        [](const If &node) { return List{node.condition}; },
                        [](const Store &node) {
                          List list{node.index, node.value};
                          push_present(list, node.valid);
                          return list;
                        },
                        [](const Barrier &) { return List{}; },
                        [](const Prefetch &node) { return List{node.index}; },
                        [](const Intrinsic &node) { return expressions(node); },
                    },
                    stmt->node);
}

std::vector<StmtRef> children(StmtRef stmt) {
  using List = std::vector<StmtRef>;
  return std::visit(Match{
                        [](const Block &node) { return node.body; },
                        [](const Let &) { return List{}; },
                        [](const For &node) { return List{node.body}; },
                        [](const If &node) {
                          return node.else_body == nullptr ? List{node.then_body}
                                                           : List{node.then_body, node.else_body};
                        },
                        [](const Store &) { return List{}; },
                        [](const Barrier &) { return List{}; },
                        [](const Prefetch &) { return List{}; },
                        [](const Intrinsic &) { return List{}; },
                    },
                    stmt->node);
}

void for_each_stmt(StmtRef root, const std::function<void(StmtRef)> &visit) {
  visit(root);
  for (const StmtRef child : children(root))
    for_each_stmt(child, visit);
}

void for_each_expr(ExprRef root, const std::function<void(ExprRef)> &visit) {
  visit(root);
  for (const ExprRef child : children(root))
    for_each_expr(child, visit);
}

void for_each_expr(StmtRef root, const std::function<void(ExprRef)> &visit) {
  for_each_stmt(root, [&](StmtRef stmt) {
    for (const ExprRef expr : expressions(stmt))
      for_each_expr(expr, visit);
  });
}

bool awaits_earlier(const Kernel &kernel) {
  bool awaits = false;
  for_each_stmt(kernel.body, [&](StmtRef stmt) {
    awaits = awaits || get_intrinsic<AwaitEarlier>(stmt) != nullptr;
  });
  return awaits;
}

bool is_same(ExprRef a, ExprRef b) {
  if (a->type != b->type || a->node.index() != b->node.index() || !same_data(a, b))
    return false;
  const std::vector<ExprRef> left = children(a);
  const std::vector<ExprRef> right = children(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), is_same);
}

ExprRef Rewriter::expr(ExprRef from) {
  if (from == nullptr)
    return nullptr;
  return std::visit(
      Match{
          [&](const Const &node) { return to_.real(node.value, from->type); },
          [&](const VarRef &node) { return to_.var(variable(node.var)); },
          [&](const BlockIndex &) { return to_.block(); },
          [&](const LaneIndex &) { return to_.lane(); },
          [&](const Scalar &node) {
            std::vector<ExprRef> args;
            for (const ExprRef arg : node.args)
              args.push_back(expr(arg));
            return to_.scalar(node.op, std::move(args));
          },
          [&](const Fma &node) {
            const ExprRef a = expr(node.a);
            const ExprRef b = expr(node.b);
            return to_.fma(a, b, expr(node.c));
          },
          [&](const Dot &node) {
            const ExprRef a = expr(node.a);
            const ExprRef b = expr(node.b);
            return to_.dot(*node.op, a, b, expr(node.c));
          },
          [&](const Cast &node) { return to_.cast(expr(node.value), from->type.elem); },
          [&](const Broadcast &node) { return to_.broadcast(expr(node.value), from->type.lanes); },
          [&](const Load &node) {
            const ExprRef index = expr(node.index);
            if (node.rank != nullptr)
              return to_.remote_load(buffer(node.buffer), index, from->type.lanes, expr(node.rank));
            return to_.load(buffer(node.buffer), index, from->type.lanes, node.lane_stride,
                            expr(node.valid), node.fill);
          },
      },
      from->node);
}

StmtRef Rewriter::stmt(StmtRef from) {
  if (from == nullptr)
    return nullptr;
  return std::visit([&](const auto &node) { return rewritten(node); }, from->node);
}

StmtRef Rewriter::rewritten(const Block &node) {
  std::vector<StmtRef> body;
  for (const StmtRef child : node.body)
    body.push_back(stmt(child));
  return to_.block(std::move(body));
}

StmtRef Rewriter::rewritten(const Let &node) {
  return to_.let(variable(node.var), expr(node.value));
}

StmtRef Rewriter::rewritten(const For &node) {
  const ExprRef begin = expr(node.begin);
  const ExprRef end = expr(node.end);
  const StmtRef body = stmt(node.body);
  return body == nullptr ? nullptr
                         : to_.loop(variable(node.var), node.kind, begin, end, node.step, body);
}

StmtRef Rewriter::rewritten(const If &node) {
  const ExprRef condition = expr(node.condition);
  const StmtRef then_body = stmt(node.then_body);
  const StmtRef else_body = node.else_body == nullptr ? nullptr : stmt(node.else_body);
  return to_.branch(condition, then_body, else_body);
}

StmtRef Rewriter::rewritten(const Store &node) {
  const ExprRef index = expr(node.index);
  const ExprRef value = expr(node.value);
  return to_.store(buffer(node.buffer), index, value, node.lane_stride, expr(node.valid));
}

StmtRef Rewriter::rewritten(const Barrier &node) { return to_.barrier(node); }

StmtRef Rewriter::rewritten(const Prefetch &node) {
  return to_.prefetch(buffer(node.buffer), expr(node.index));
}

void Rewriter::place(const ElementOperand &operand) {
  *operand.buffer = buffer(*operand.buffer);
  *operand.index = expr(*operand.index);
}

void Rewriter::place(const RunOperand &operand) {
  *operand.buffer = buffer(*operand.buffer);
  *operand.index = expr(*operand.index);
  *operand.valid = expr(*operand.valid);
}

void Rewriter::place(const ListOperand &operand) {
  for (ExprRef &each : *operand.at)
    each = expr(each);
}

StmtRef Rewriter::rewritten(Intrinsic node) {
  for (const Operand &operand : operands(node))
    std::visit([&](const auto &at) { place(at); }, operand.at);
  return to_.intrinsic(std::move(node));
}

Kernel copy_shell(const Kernel &from) {
  Kernel shell;
  shell.name = from.name;
  shell.blocks = from.blocks;
  shell.cluster = from.cluster;
  shell.block_size = from.block_size;
  shell.buffers = from.buffers;
  shell.maps = from.maps;
  shell.variables = from.variables;
  shell.flops = from.flops;
  shell.bytes = from.bytes;
  return shell;
}

} // namespace tilefuse::kernel
