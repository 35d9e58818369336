// SPDX-License-Identifier: Apache-2.0
#include "fuzz/kernel_mutations.h"

#include <algorithm>

#include "fuzz/fault.h"

namespace tilefuse::fuzz {
namespace {

using namespace kernel;

struct NoBarriers : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    if (!as<Barrier>(from))
      return Fault::stmt(from);
    take();
    return nullptr;
  }
};

struct NoLoadPredicates : Fault {
  using Fault::Fault;
  ExprRef expr(ExprRef from) override {
    const auto *node = from ? std::get_if<Load>(&from->node) : nullptr;
    if (!node || !node->valid)
      return Fault::expr(from);
    take();
    return load(*node, from->type, expr(node->index), nullptr);
  }
};

struct NoStorePredicates : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || !node->valid)
      return Fault::stmt(from);
    take();
    return to().store(node->buffer, expr(node->index), expr(node->value), node->lane_stride);
  }
};

struct NoResets : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || !is_in(node->buffer, Space::Register) ||
        !std::holds_alternative<Const>(node->value->node))
      return Fault::stmt(from);
    take();
    return nullptr;
  }
};

// The fill of loads, and constants stored into staged tiles.
struct WrongFill : Fault {
  using Fault::Fault;
  ExprRef expr(ExprRef from) override {
    const auto *node = from ? std::get_if<Load>(&from->node) : nullptr;
    if (!node || !node->valid)
      return Fault::expr(from);
    take();
    return to().load(node->buffer, expr(node->index), from->type.lanes, node->lane_stride,
                     expr(node->valid), 1);
  }
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || !is_in(node->buffer, Space::Local) ||
        !std::holds_alternative<Const>(node->value->node))
      return Fault::stmt(from);
    take();
    return to().store(node->buffer, expr(node->index), to().real(1, node->value->type),
                      node->lane_stride, node->valid ? expr(node->valid) : nullptr);
  }
};

struct WideTails : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Store>(from);
    if (!node || !node->valid)
      return Fault::stmt(from);
    take();
    return to().store(node->buffer, expr(node->index), expr(node->value), node->lane_stride,
                      to().add(expr(node->valid), to().integer(1)));
  }
};

struct NoPartialSteps : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<If>(from);
    if (!node || !node->else_body)
      return Fault::stmt(from);
    take();
    return stmt(node->then_body);
  }
};

struct SwizzledReads : Fault {
  using Fault::Fault;
  ExprRef expr(ExprRef from) override {
    const auto *node = from ? std::get_if<Load>(&from->node) : nullptr;
    if (!node || !is_in(node->buffer, Space::Local) || from_elems(*node) < 2)
      return Fault::expr(from);
    take();
    const ExprRef index = expr(node->index);
    const ExprRef odd = to().mod(index, to().integer(2));
    const ExprRef swapped =
        to().sub(to().add(index, to().integer(1)), to().mul(odd, to().integer(2)));
    return load(*node, from->type, swapped, node->valid ? expr(node->valid) : nullptr);
  }
  std::int64_t from_elems(const Load &node) const { return from()[node.buffer].elems; }
};

// Work-item l stores at the place of the last but l.
struct ReversedLanes : Fault {
  using Fault::Fault;
  ExprRef expr(ExprRef node) override {
    if (!in_store_ || !node || !std::holds_alternative<LaneIndex>(node->node))
      return Fault::expr(node);
    take();
    return to().sub(to().integer(from().block_size - 1), to().lane());
  }
  StmtRef stmt(StmtRef node) override {
    const auto *store = as<Store>(node);
    if (!store || !is_in(store->buffer, Space::Global))
      return Fault::stmt(node);
    in_store_ = true;
    const ExprRef index = expr(store->index);
    in_store_ = false;
    return to().store(store->buffer, index, expr(store->value), store->lane_stride,
                      store->valid ? expr(store->valid) : nullptr);
  }

private:
  bool in_store_ = false;
};

struct DoubledStride : Fault {
  using Fault::Fault;
  ExprRef expr(ExprRef from) override {
    const auto *node = from ? std::get_if<Load>(&from->node) : nullptr;
    if (!node || is_in(node->buffer, Space::Register) || from->type.lanes == 1)
      return Fault::expr(from);
    take();
    return to().load(node->buffer, expr(node->index), from->type.lanes, 2 * node->lane_stride,
                     node->valid ? expr(node->valid) : nullptr, node->fill);
  }
};

struct ShortLoops : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<For>(from);
    if (!node)
      return Fault::stmt(from);
    take();
    const ExprRef end = to().sub(expr(node->end), to().integer(node->step));
    return to().loop(node->var, node->kind, expr(node->begin), end, node->step, stmt(node->body));
  }
};

// What combines the lanes of a reduced index (schedule/lane_reduction.h), round by round.
struct LaneRounds : Fault {
  using Fault::Fault;
  bool is_round(StmtRef stmt) const {
    const auto *branch = as<If>(stmt);
    const auto *body = branch ? as<Block>(branch->then_body) : nullptr;
    return body && std::any_of(body->body.begin(), body->body.end(), [&](StmtRef each) {
             const auto *store = as<Store>(each);
             return store && is_in(store->buffer, Space::Local) &&
                    from()[store->buffer].name.starts_with("lanes");
           });
  }
};

struct NoLaneRounds : LaneRounds {
  using LaneRounds::LaneRounds;
  StmtRef stmt(StmtRef from) override {
    if (!is_round(from))
      return Fault::stmt(from);
    take();
    return nullptr;
  }
};

struct RoundsTogether : LaneRounds {
  using LaneRounds::LaneRounds;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<Block>(from);
    if (!node)
      return Fault::stmt(from);
    std::vector<StmtRef> body;
    for (std::size_t i = 0; i < node->body.size(); ++i) {
      const bool is_between = i > 0 && i + 1 < node->body.size() && as<Barrier>(node->body[i]) &&
                              is_round(node->body[i - 1]) && is_round(node->body[i + 1]);
      if (is_between)
        take();
      else
        body.push_back(stmt(node->body[i]));
    }
    return to().block(std::move(body));
  }
};

struct WaitTooLittle : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<AsyncWait>(from);
    if (!node)
      return Fault::stmt(from);
    take();
    return to().async_wait(node->pending + 1);
  }
};

struct CopyUnchecked : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<AsyncCopy>(from);
    if (!node || !node->valid)
      return Fault::stmt(from);
    take();
    return to().async_copy(
        {node->to, expr(node->to_index), node->from, expr(node->from_index), node->elems, nullptr});
  }
};

struct TurnFragments : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<LoadMatrix>(from);
    if (!node || size_bytes(this->from()[node->from].type.elem) != 2)
      return Fault::stmt(from);
    take();
    return to().load_matrix({{node->to.buffer, expr(node->to.index)},
                             node->from,
                             expr(node->index),
                             node->matrices,
                             !node->transposed});
  }
};

struct ShiftFragments : Fault {
  using Fault::Fault;
  StmtRef stmt(StmtRef from) override {
    const auto *node = as<LoadMatrix>(from);
    if (!node)
      return Fault::stmt(from);
    take();
    const std::int64_t chunk = 16 / size_bytes(this->from()[node->from].type.elem);
    const ExprRef shifted = to().scalar(ScalarOp::BitXor, {expr(node->index), to().integer(chunk)});
    return to().load_matrix({{node->to.buffer, expr(node->to.index)},
                             node->from,
                             shifted,
                             node->matrices,
                             node->transposed});
  }
};

} // namespace

std::optional<Kernel> drop_barriers(const Kernel &k) { return plant<NoBarriers>(k); }
std::optional<Kernel> drop_load_predicates(const Kernel &k) { return plant<NoLoadPredicates>(k); }
std::optional<Kernel> drop_store_predicates(const Kernel &k) { return plant<NoStorePredicates>(k); }
std::optional<Kernel> drop_resets(const Kernel &k) { return plant<NoResets>(k); }
std::optional<Kernel> wrong_fill(const Kernel &k) { return plant<WrongFill>(k); }
std::optional<Kernel> widen_tails(const Kernel &k) { return plant<WideTails>(k); }
std::optional<Kernel> drop_partial_steps(const Kernel &k) { return plant<NoPartialSteps>(k); }
std::optional<Kernel> swizzle_local_reads(const Kernel &k) { return plant<SwizzledReads>(k); }
std::optional<Kernel> reverse_lanes(const Kernel &k) { return plant<ReversedLanes>(k); }
std::optional<Kernel> double_lane_stride(const Kernel &k) { return plant<DoubledStride>(k); }
std::optional<Kernel> shorten_loops(const Kernel &k) { return plant<ShortLoops>(k); }
std::optional<Kernel> drop_lane_rounds(const Kernel &k) { return plant<NoLaneRounds>(k); }
std::optional<Kernel> join_lane_rounds(const Kernel &k) { return plant<RoundsTogether>(k); }

std::optional<Kernel> wait_too_little(const Kernel &kernel) { return plant<WaitTooLittle>(kernel); }
std::optional<Kernel> copy_unchecked(const Kernel &kernel) { return plant<CopyUnchecked>(kernel); }
std::optional<Kernel> turn_fragments(const Kernel &kernel) { return plant<TurnFragments>(kernel); }
std::optional<Kernel> shift_fragments(const Kernel &kernel) {
  return plant<ShiftFragments>(kernel);
}

} // namespace tilefuse::fuzz
