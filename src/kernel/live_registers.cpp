// SPDX-License-Identifier: Apache-2.0
#include "kernel/live_registers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "kernel/build.h"
#include "kernel/intrinsics.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

constexpr std::int64_t kRegisterBytes = 4;
constexpr int kWhole = -1; // a register buffer with an index that is not constant

std::int64_t registers_of(Type type) {
  const std::int64_t bytes = type.lanes * size_bytes(type.elem);
  return (bytes + kRegisterBytes - 1) / kRegisterBytes;
}

// Positions at which a value is touched, ascending.
struct Range {
  std::int64_t registers = 0;
  std::vector<int> touched;
};

struct Loop {
  int begin = 0;
  int end = 0;
};

class Liveness {
public:
  explicit Liveness(const Kernel &kernel) : kernel_(kernel) {}

  std::int64_t most() {
    visit(kernel_.body);
    std::vector<std::int64_t> change(held_.size() + 2);
    for (const auto &[key, range] : variables_)
      add(range, change);
    for (const auto &[key, range] : registers_)
      add(range, change);
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (std::size_t i = 0; i < held_.size(); ++i) {
      live += change[i];
      most = std::max(most, live + held_[i]);
    }
    return most;
  }

private:
  // Alive after its first touch, up to its last, and to the end of a loop it enters alive.
  void add(const Range &range, std::vector<std::int64_t> &change) const {
    const int first = range.touched.front();
    int last = range.touched.back();
    for (const Loop &loop : loops_) {
      const auto inside = std::lower_bound(range.touched.begin(), range.touched.end(), loop.begin);
      const bool is_touched = inside != range.touched.end() && *inside <= loop.end;
      if (first < loop.begin && is_touched)
        last = std::max(last, loop.end);
    }
    change[static_cast<std::size_t>(first) + 1] += range.registers;
    change[static_cast<std::size_t>(last) + 1] -= range.registers;
  }

  int here() const { return static_cast<int>(held_.size()) - 1; }

  void touch(Range &range, std::int64_t registers) {
    range.registers = registers;
    range.touched.push_back(here());
  }
  void touch(VarId var) { touch(variables_[var], registers_of(kernel_[var].type)); }
  void touch(BufferId id, ExprRef index, std::int64_t values) {
    const Buffer &buffer = kernel_[id];
    std::int64_t at = 0;
    if (is_constant(index, &at)) {
      for (std::int64_t i = at; i < at + values; ++i)
        touch(registers_[{id, i}], registers_of(buffer.type));
    } else {
      touch(registers_[{id, kWhole}], registers_of(buffer.type) * buffer.elems);
    }
  }

  void visit(StmtRef stmt) {
    if (const Block *block = std::get_if<Block>(&stmt->node)) {
      for (const StmtRef child : block->body)
        visit(child);
      return;
    }
    const std::vector<ExprRef> list = expressions(stmt);
    held_.push_back(held(list, 0));
    for (const ExprRef expr : list)
      for_each_expr(expr, [&](ExprRef e) { read(e); });
    write(stmt);
    const int begin = here();
    for (const StmtRef child : children(stmt))
      visit(child);
    if (const For *loop = std::get_if<For>(&stmt->node)) {
      held_.push_back(0);
      touch(loop->var);
      loops_.push_back({begin + 1, here()});
    }
  }

  void read(ExprRef e) {
    if (const VarRef *ref = std::get_if<VarRef>(&e->node))
      touch(ref->var);
    const Load *load = std::get_if<Load>(&e->node);
    if (load == nullptr || kernel_[load->buffer].space != Space::Register)
      return;
    std::int64_t at = 0;
    if (kernel_[load->buffer].type.lanes == e->type.lanes || !is_constant(load->index, &at))
      return touch(load->buffer, load->index, 1);
    for (int lane = 0; lane < e->type.lanes; ++lane)
      touch(registers_[{load->buffer, at + lane * load->lane_stride}], 1);
  }

  void write(StmtRef stmt) {
    if (const Let *let = std::get_if<Let>(&stmt->node))
      touch(let->var);
    if (const For *loop = std::get_if<For>(&stmt->node))
      touch(loop->var);
    const Store *store = std::get_if<Store>(&stmt->node);
    if (store != nullptr && kernel_[store->buffer].space == Space::Register)
      touch(store->buffer, store->index,
            store->value->type.lanes / kernel_[store->buffer].type.lanes);
    if (const Intrinsic *intrinsic = std::get_if<Intrinsic>(&stmt->node))
      for (const Operand &operand : operands(*intrinsic))
        if (const auto *element = std::get_if<ElementOperand>(&operand.at))
          if (const std::int64_t values = register_values(kernel_, *element); values > 0)
            write(*element, operand.effect, values);
  }

  // Registers of an intrinsic; what it only writes is held beside its operands.
  void write(const ElementOperand &element, Effect effect, std::int64_t values) {
    if (effect == Effect::Writes)
      held_.back() += values * registers_of(kernel_[*element.buffer].type);
    touch(*element.buffer, *element.index, values);
  }

  // An operand that lies in a register already, or in the instruction.
  bool is_free(ExprRef e) const {
    if (const Load *load = std::get_if<Load>(&e->node))
      return kernel_[load->buffer].space == Space::Register;
    return std::holds_alternative<Const>(e->node) || std::holds_alternative<VarRef>(e->node) ||
           std::holds_alternative<BlockIndex>(e->node) ||
           std::holds_alternative<LaneIndex>(e->node);
  }

  std::int64_t need(ExprRef e) const {
    return is_free(e) ? 0 : held(children(e), registers_of(e->type));
  }

  // Registers to compute values side by side, the most demanding first (Sethi and Ullman 1970), and
  // then a result.
  std::int64_t held(const std::vector<ExprRef> &list, std::int64_t result) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> needs; // to compute, to keep
    for (const ExprRef e : list)
      if (!is_free(e))
        needs.emplace_back(need(e), registers_of(e->type));
    std::sort(needs.rbegin(), needs.rend());
    std::int64_t kept = 0;
    std::int64_t most = result;
    for (const auto &[compute, keep] : needs) {
      most = std::max(most, kept + compute);
      kept += keep;
    }
    return most;
  }

  const Kernel &kernel_;
  std::vector<std::int64_t> held_; // by position: registers its expressions hold
  std::vector<Loop> loops_;
  std::map<VarId, Range> variables_;
  std::map<std::pair<BufferId, std::int64_t>, Range> registers_;
};

} // namespace

std::int64_t live_registers(const Kernel &kernel) { return Liveness(kernel).most(); }

} // namespace tilefuse::kernel
