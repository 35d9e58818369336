// SPDX-License-Identifier: Apache-2.0
// A kernel's statements as operations of the simulator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "kernel/intrinsics.h"
#include "kernel/nodes.h"
#include "kernel/simulation/program.h"
#include "kernel/text/text.h"
#include "kernel/walk.h"

namespace tilefuse::kernel::simulation {

class Compiler {
public:
  Compiler(const Kernel &kernel, int width) : kernel_(kernel) { program_.width = width; }

  Program run() {
    program_.awaits_earlier = awaits_earlier(kernel_);
    program_.lane_slot = take(1);
    program_.block_slot = take(1);
    for (const Variable &variable : kernel_.variables)
      variables_.push_back(take(variable.type.lanes));
    place_registers();
    peak_ = top_;
    stmt(kernel_.body);
    emit({.code = Code::End});
    program_.cells = peak_;
    return std::move(program_);
  }

private:
  static constexpr std::int64_t kMaxCells = std::int64_t{1} << 27; // 1 GiB

  // Slots are given out like a stack; what a statement took is free after it.
  Slot take(std::int64_t rows) {
    const std::int64_t at = top_;
    const std::int64_t next = at + rows * program_.width;
    if (rows > kMaxCells || next > kMaxCells)
      too_large();
    top_ = static_cast<Slot>(next);
    peak_ = std::max(peak_, top_);
    return static_cast<Slot>(at);
  }
  [[noreturn]] void too_large() const {
    throw Error(ErrorCode::Limit,
                fmt::format("simulating needs more than {} MiB of registers",
                            kMaxCells * static_cast<std::int64_t>(sizeof(Cell)) >> 20),
                kernel_.name);
  }
  void place_registers();

  Op &emit(Op op) {
    op.line = line_;
    return program_.ops.emplace_back(op);
  }
  int here() const { return static_cast<int>(program_.ops.size()); }
  int access(BufferId buffer, AccessKind kind, std::string text);
  Slot variable(VarId id) const { return variables_[at(id)]; }
  const RegisterPlace &place(BufferId id) const { return program_.registers[at(id)]; }

  void stmt(StmtRef s);
  void step(const Block &node) {
    for (const StmtRef child : node.body)
      stmt(child);
  }
  void step(const Let &node) {
    const Slot value = expr(node.value);
    emit({.code = Code::Copy,
          .lanes = node.value->type.lanes,
          .to = variable(node.var),
          .a = value});
  }
  void step(const For &node);
  void step(const If &node);
  void step(const Store &node);
  void step(const Barrier &) { emit({.code = Code::Barrier}); }
  void step(const Prefetch &node) { emit({.code = Code::Index, .a = expr(node.index)}); }
  void step(const Intrinsic &node);
  // The access that an operand of an intrinsic is counted as.
  bool is_register(const Operand &operand) const;
  int access(const Operand &operand, AccessKind kind);

  Slot expr(ExprRef e) {
    return std::visit([&](const auto &node) { return value(e, node); }, e->node);
  }
  Slot value(ExprRef e, const Const &node);
  Slot value(ExprRef, const VarRef &node) { return variable(node.var); }
  Slot value(ExprRef, const BlockIndex &) { return program_.block_slot; }
  Slot value(ExprRef, const LaneIndex &) { return program_.lane_slot; }
  Slot value(ExprRef e, const Scalar &node);
  Slot value(ExprRef e, const Fma &node);
  Slot value(ExprRef e, const Dot &node);
  Slot value(ExprRef e, const Cast &node);
  Slot value(ExprRef e, const Broadcast &node);
  Slot value(ExprRef e, const Load &node);
  Slot register_value(ExprRef e, const Load &node);
  Slot gathered_registers(ExprRef e, const Load &node, std::int64_t first);
  Slot result(ExprRef e, Op op) {
    op.to = take(e->type.lanes);
    op.lanes = e->type.lanes;
    op.to_elem = e->type.elem;
    emit(op);
    return op.to;
  }

  const Kernel &kernel_;
  Program program_;
  std::vector<Slot> variables_; // by VarId
  std::map<std::tuple<DType, int, std::uint64_t>, Slot> constants_;
  Slot top_ = 0;
  Slot peak_ = 0;
  int line_ = 0;
};

// Requires what kernel/verify.h checks. Throws Error{Limit} for registers beyond 1 GiB in all.
Program compile(const Kernel &kernel, int width);

} // namespace tilefuse::kernel::simulation
