// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulate.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernel/simulate_math.h"
#include "kernel/simulate_memory.h"

namespace tilefuse::kernel {
namespace simulation {
namespace {

using Cells = std::vector<Cell>; // (item, lane)
using Mask = std::vector<char>;  // by item: active

class Simulator {
public:
  Simulator(const Kernel &kernel, std::span<const std::span<std::byte>> args)
      : kernel_(kernel), position_{kernel}, memory_(position_, args),
        variables_(kernel.variables.size()) {}

  void run() {
    const Mask everyone(static_cast<std::size_t>(kernel_.block_size), 1);
    for (position_.block = 0; position_.block < kernel_.blocks; ++position_.block) {
      memory_.start_block();
      stmt(kernel_.body, everyone);
    }
  }

private:
  void stmt(StmtRef s, const Mask &active) {
    const StmtRef outer = std::exchange(position_.stmt, s);
    std::visit([&](const auto &node) { step(node, active); }, s->node);
    position_.stmt = outer;
  }
  Cells eval(ExprRef e, const Mask &active) {
    return std::visit([&](const auto &node) { return value(e, node, active); }, e->node);
  }

  void step(const Block &node, const Mask &active);
  void step(const Let &node, const Mask &active) { variable(node.var) = eval(node.value, active); }
  void step(const For &node, const Mask &active);
  void step(const If &node, const Mask &active);
  void step(const Store &node, const Mask &active);
  void step(const Barrier &, const Mask &active);
  void step(const Prefetch &node, const Mask &active) { eval(node.index, active); }

  Cells value(ExprRef e, const Const &node, const Mask &) {
    return Cells(cells(e), cell_of(node.value, e->type.elem));
  }
  Cells value(ExprRef, const VarRef &node, const Mask &) { return variable(node.var); }
  Cells value(ExprRef e, const BlockIndex &, const Mask &);
  Cells value(ExprRef e, const LaneIndex &, const Mask &);
  Cells value(ExprRef e, const Scalar &node, const Mask &active);
  Cells value(ExprRef e, const Fma &node, const Mask &active);
  Cells value(ExprRef e, const Cast &node, const Mask &active);
  Cells value(ExprRef e, const Broadcast &node, const Mask &active);
  Cells value(ExprRef e, const Load &node, const Mask &active);

  Cells &variable(VarId id) { return variables_[static_cast<std::size_t>(to_int(id))]; }
  std::size_t items() const { return static_cast<std::size_t>(kernel_.block_size); }
  std::size_t cells(ExprRef e) const { return items() * static_cast<std::size_t>(e->type.lanes); }
  // Calls body(item) for every active one.
  template <class Body> void for_active(const Mask &active, const Body &body) {
    for (std::size_t item = 0; item < active.size(); ++item)
      if (active[item] != 0)
        body(item);
  }

  const Kernel &kernel_;
  Position position_;
  Memory memory_;
  std::vector<Cells> variables_; // by VarId
};

// Wraps, so that an absurd index reaches the bounds check.
std::int64_t element(std::int64_t index, std::int64_t lane, std::int64_t stride) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(index) +
                                   static_cast<std::uint64_t>(lane * stride));
}

bool any(const Mask &mask) {
  return std::any_of(mask.begin(), mask.end(), [](char active) { return active != 0; });
}

void Simulator::step(const Block &node, const Mask &active) {
  for (const StmtRef child : node.body)
    stmt(child, active);
}

void Simulator::step(const For &node, const Mask &active) {
  const StmtRef self = position_.stmt;
  Cells at = eval(node.begin, active);
  const Cells end = eval(node.end, active);
  Mask inside = active;
  for (;;) {
    for_active(inside,
               [&](std::size_t item) { inside[item] = at[item].whole < end[item].whole ? 1 : 0; });
    if (!any(inside))
      break;
    variable(node.var) = at;
    stmt(node.body, inside);
    position_.stmt = self;
    for_active(inside, [&](std::size_t item) {
      const bool past = __builtin_add_overflow(at[item].whole, node.step, &at[item].whole);
      inside[item] = past ? 0 : 1;
    });
  }
}

void Simulator::step(const If &node, const Mask &active) {
  const Cells condition = eval(node.condition, active);
  Mask then_active = active;
  Mask else_active = active;
  for_active(active, [&](std::size_t item) {
    const bool holds = condition[item].whole != 0;
    then_active[item] = holds ? 1 : 0;
    else_active[item] = holds ? 0 : 1;
  });
  if (any(then_active))
    stmt(node.then_body, then_active);
  if (node.else_body != nullptr && any(else_active))
    stmt(node.else_body, else_active);
}

void Simulator::step(const Store &node, const Mask &active) {
  const auto lanes = static_cast<std::size_t>(node.value->type.lanes);
  const Cells index = eval(node.index, active);
  const Cells value = eval(node.value, active);
  const Cells valid = node.valid != nullptr ? eval(node.valid, active) : Cells{};
  const bool is_register = kernel_[node.buffer].space == Space::Register;
  for_active(active, [&](std::size_t item) {
    const auto number = static_cast<std::int64_t>(item);
    const std::span<const Cell> from = std::span(value).subspan(item * lanes, lanes);
    if (is_register) {
      std::ranges::copy(from,
                        memory_.write_register(node.buffer, index[item].whole, number).begin());
      return;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto offset = static_cast<std::int64_t>(lane);
      if (node.valid != nullptr && offset >= valid[item].whole)
        break;
      memory_.write(node.buffer, element(index[item].whole, offset, node.lane_stride), number,
                    from[lane]);
    }
  });
}

void Simulator::step(const Barrier &, const Mask &active) {
  const auto missing = std::find(active.begin(), active.end(), 0);
  if (missing != active.end())
    position_.fault("does not reach a barrier that others reach", missing - active.begin());
  memory_.barrier();
}

Cells Simulator::value(ExprRef e, const BlockIndex &, const Mask &) {
  Cell cell{};
  cell.whole = position_.block;
  return Cells(cells(e), cell);
}

Cells Simulator::value(ExprRef e, const LaneIndex &, const Mask &) {
  Cells result(cells(e));
  for (std::size_t item = 0; item < result.size(); ++item)
    result[item].whole = static_cast<std::int64_t>(item);
  return result;
}

Cells Simulator::value(ExprRef e, const Scalar &node, const Mask &active) {
  std::array<Cells, 3> args;
  for (std::size_t i = 0; i < node.args.size(); ++i)
    args[i] = eval(node.args[i], active);
  const DType elem = node.args.back()->type.elem;
  const auto lanes = static_cast<std::size_t>(e->type.lanes);
  Cells result(cells(e));
  for_active(active, [&](std::size_t item) {
    for (std::size_t i = item * lanes; i < (item + 1) * lanes; ++i) {
      std::array<Cell, 3> lane{};
      for (std::size_t k = 0; k < node.args.size(); ++k)
        lane[k] = args[k][i];
      bool defined = true;
      result[i] = apply(node.op, elem, std::span(lane).first(node.args.size()), defined);
      if (!defined)
        position_.fault("an integer division by zero", static_cast<std::int64_t>(item));
    }
  });
  return result;
}

Cells Simulator::value(ExprRef e, const Fma &node, const Mask &active) {
  Cells a = eval(node.a, active);
  const Cells b = eval(node.b, active);
  const Cells c = eval(node.c, active);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = fma(e->type.elem, a[i], b[i], c[i]);
  return a;
}

Cells Simulator::value(ExprRef e, const Cast &node, const Mask &active) {
  Cells result = eval(node.value, active);
  for (Cell &cell : result)
    cell = convert(cell, node.value->type.elem, e->type.elem);
  return result;
}

Cells Simulator::value(ExprRef e, const Broadcast &node, const Mask &active) {
  const Cells from = eval(node.value, active);
  const auto lanes = static_cast<std::size_t>(e->type.lanes);
  Cells result(cells(e));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = from[i / lanes];
  return result;
}

Cells Simulator::value(ExprRef e, const Load &node, const Mask &active) {
  const auto lanes = static_cast<std::size_t>(e->type.lanes);
  const Cells index = eval(node.index, active);
  const Cells valid = node.valid != nullptr ? eval(node.valid, active) : Cells{};
  const bool is_register = kernel_[node.buffer].space == Space::Register;
  Cells result(cells(e), cell_of(node.fill, e->type.elem));
  for_active(active, [&](std::size_t item) {
    const auto number = static_cast<std::int64_t>(item);
    if (is_register) {
      const auto from = memory_.read_register(node.buffer, index[item].whole, number);
      std::ranges::copy(from, result.begin() + static_cast<std::ptrdiff_t>(item * lanes));
      return;
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto offset = static_cast<std::int64_t>(lane);
      if (node.valid != nullptr && offset >= valid[item].whole)
        break;
      result[item * lanes + lane] =
          memory_.read(node.buffer, element(index[item].whole, offset, node.lane_stride), number);
    }
  });
  return result;
}

} // namespace
} // namespace simulation

void simulate(const Kernel &kernel, std::span<const std::span<std::byte>> args) {
  TILEFUSE_CHECK(kernel.body != nullptr, "a kernel without a body is simulated");
  simulation::Simulator(kernel, args).run();
}

} // namespace tilefuse::kernel
