// SPDX-License-Identifier: Apache-2.0
#include "kernel/walk.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

namespace tilefuse::kernel {
namespace {

template <class... Handlers> struct Match : Handlers... {
  using Handlers::operator()...;
};

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
                        [](const Fma &node) { return List{node.a, node.b, node.c}; },
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

std::vector<ExprRef> expressions(StmtRef stmt) {
  using List = std::vector<ExprRef>;
  return std::visit(
      Match{
          [](const Block &) { return List{}; },
          [](const Let &node) { return List{node.value}; },
          [](const For &node) { return List{node.begin, node.end}; },
          [](const If &node) { return List{node.condition}; },
          [](const Store &node) {
            List list{node.index, node.value};
            push_present(list, node.valid);
            return list;
          },
          [](const Barrier &) { return List{}; },
          [](const Prefetch &node) { return List{node.index}; },
          [](const LoadMatrix &node) { return List{node.to.index, node.index}; },
          [](const Mma &node) { return List{node.acc.index, node.a.index, node.b.index}; },
          [](const AsyncCopy &node) {
            List list{node.to_index, node.from_index};
            push_present(list, node.valid);
            return list;
          },
          [](const AsyncCommit &) { return List{}; },
          [](const AsyncWait &) { return List{}; },
          [](const Ticket &node) { return List{node.to.index, node.index}; },
          [](const Mbarrier &node) {
            List list{node.at.index};
            push_present(list, node.value);
            push_present(list, node.rank);
            return list;
          },
          [](const TensorCopy &node) {
            List list{node.to.index, node.signals.index};
            list.insert(list.end(), node.at.begin(), node.at.end());
            list.insert(list.end(), node.offsets.begin(), node.offsets.end());
            push_present(list, node.ranks);
            return list;
          },
          [](const TensorStore &node) {
            List list{node.from.index};
            list.insert(list.end(), node.at.begin(), node.at.end());
            return list;
          },
          [](const StoreSync &) { return List{}; },
          [](const Wgmma &node) {
            List list{node.acc.index, node.a.index, node.b.index};
            push_present(list, node.accumulate);
            return list;
          },
          [](const WgmmaSync &) { return List{}; },
          [](const RegisterLimit &) { return List{}; },
          [](const AwaitEarlier &) { return List{}; },
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
                        [](const LoadMatrix &) { return List{}; },
                        [](const Mma &) { return List{}; },
                        [](const AsyncCopy &) { return List{}; },
                        [](const AsyncCommit &) { return List{}; },
                        [](const AsyncWait &) { return List{}; },
                        [](const Ticket &) { return List{}; },
                        [](const Mbarrier &) { return List{}; },
                        [](const TensorCopy &) { return List{}; },
                        [](const TensorStore &) { return List{}; },
                        [](const StoreSync &) { return List{}; },
                        [](const Wgmma &) { return List{}; },
                        [](const WgmmaSync &) { return List{}; },
                        [](const RegisterLimit &) { return List{}; },
                        [](const AwaitEarlier &) { return List{}; },
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
    awaits = awaits || std::holds_alternative<AwaitEarlier>(stmt->node);
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

template <typename Ref> void Rewriter::place(Ref &ref) {
  ref.buffer = buffer(ref.buffer);
  ref.index = expr(ref.index);
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

StmtRef Rewriter::rewritten(LoadMatrix node) {
  place(node.to);
  node.from = buffer(node.from);
  node.index = expr(node.index);
  return to_.load_matrix(node);
}

StmtRef Rewriter::rewritten(Mma node) {
  for (RegisterRef *ref : {&node.acc, &node.a, &node.b})
    place(*ref);
  return to_.mma(node);
}

StmtRef Rewriter::rewritten(AsyncCopy node) {
  node.to = buffer(node.to);
  node.from = buffer(node.from);
  node.to_index = expr(node.to_index);
  node.from_index = expr(node.from_index);
  node.valid = expr(node.valid);
  return to_.async_copy(node);
}

StmtRef Rewriter::rewritten(const AsyncCommit &) { return to_.async_commit(); }

StmtRef Rewriter::rewritten(const AsyncWait &node) { return to_.async_wait(node.pending); }

StmtRef Rewriter::rewritten(Ticket node) {
  place(node.to);
  node.counts = buffer(node.counts);
  node.index = expr(node.index);
  return to_.ticket(node);
}

StmtRef Rewriter::rewritten(Mbarrier node) {
  place(node.at);
  node.value = expr(node.value);
  node.rank = expr(node.rank);
  return to_.mbarrier(node);
}

StmtRef Rewriter::rewritten(TensorCopy node) {
  place(node.to);
  place(node.signals);
  node.map = map(node.map);
  for (ExprRef &at : node.at)
    at = expr(at);
  for (ExprRef &offset : node.offsets)
    offset = expr(offset);
  node.ranks = expr(node.ranks);
  return to_.tensor_copy(std::move(node));
}

StmtRef Rewriter::rewritten(TensorStore node) {
  place(node.from);
  node.map = map(node.map);
  for (ExprRef &at : node.at)
    at = expr(at);
  return to_.tensor_store(std::move(node));
}

StmtRef Rewriter::rewritten(const StoreSync &node) { return to_.store_sync(node); }

StmtRef Rewriter::rewritten(Wgmma node) {
  place(node.acc);
  place(node.a);
  place(node.b);
  node.accumulate = expr(node.accumulate);
  return to_.wgmma(node);
}

StmtRef Rewriter::rewritten(const WgmmaSync &node) { return to_.wgmma_sync(node); }

StmtRef Rewriter::rewritten(const RegisterLimit &node) { return to_.register_limit(node); }

StmtRef Rewriter::rewritten(const AwaitEarlier &) { return to_.await_earlier(); }

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
