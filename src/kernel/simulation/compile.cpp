// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "kernel/build.h"
#include "kernel/rules.h"
#include "kernel/simulation/math.h"
#include "kernel/simulation/program.h"
#include "kernel/text.h"

namespace tilefuse::kernel::simulation {
namespace {

constexpr std::int64_t kMaxCells = std::int64_t{1} << 27; // 1 GiB

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

bool in_buffer(const Buffer &buffer, std::int64_t index) {
  return index >= 0 && index < buffer.elems;
}

class Compiler {
public:
  Compiler(const Kernel &kernel, int width) : kernel_(kernel) { program_.width = width; }

  Program run() {
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
  std::string element_text(BufferId buffer, ExprRef index) const {
    return fmt::format("{}[{}]", kernel_[buffer].name, to_text(kernel_, index));
  }
  Slot variable(VarId id) const { return variables_[static_cast<std::size_t>(to_int(id))]; }
  const RegisterPlace &place(BufferId id) const {
    return program_.registers[static_cast<std::size_t>(to_int(id))];
  }

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
  void step(const LoadMatrix &node);
  void step(const Mma &node);
  void step(const AsyncCopy &node);
  void step(const AsyncCommit &) { emit({.code = Code::AsyncCommit}); }
  void step(const AsyncWait &node) { emit({.code = Code::AsyncWait, .number = node.pending}); }
  void step(const Ticket &node);
  void step(const Mbarrier &node);
  void step(const TensorCopy &node);
  std::int64_t list(const std::vector<ExprRef> &exprs);
  void step(const TensorStore &node);
  void step(const StoreSync &) { emit({.code = Code::StoreSync}); }
  void step(const Wgmma &node);
  void step(const WgmmaSync &node) { emit({.code = Code::WgmmaSync, .number = node.pending}); }
  void step(const RegisterLimit &) {}

  Slot expr(ExprRef e) {
    return std::visit([&](const auto &node) { return value(e, node); }, e->node);
  }
  Slot value(ExprRef e, const Const &node);
  Slot value(ExprRef, const VarRef &node) { return variable(node.var); }
  Slot value(ExprRef, const BlockIndex &) { return program_.block_slot; }
  Slot value(ExprRef, const LaneIndex &) { return program_.lane_slot; }
  Slot value(ExprRef e, const Scalar &node);
  Slot value(ExprRef e, const Fma &node);
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

void Compiler::place_registers() {
  std::int64_t number = 0;
  for (const Buffer &buffer : kernel_.buffers) {
    RegisterPlace &at = program_.registers.emplace_back();
    if (buffer.space != Space::Register)
      continue;
    if (buffer.elems > kMaxCells)
      too_large();
    at = {take(buffer.elems * buffer.type.lanes), static_cast<int>(number), buffer.type.lanes};
    number += buffer.elems;
  }
  program_.register_values = static_cast<int>(number);
}

int Compiler::access(BufferId buffer, AccessKind kind, std::string text) {
  AccessCounts counts;
  counts.statement = first_line(to_text(kernel_, program_.lines.back()));
  counts.text = std::move(text);
  counts.buffer = buffer;
  counts.kind = kind;
  program_.accesses.push_back(std::move(counts));
  return static_cast<int>(program_.accesses.size()) - 1;
}

void Compiler::stmt(StmtRef s) {
  const Slot top = top_;
  const int outer = line_;
  if (!std::holds_alternative<Block>(s->node)) {
    line_ = static_cast<int>(program_.lines.size());
    program_.lines.push_back(s);
  }
  std::visit([&](const auto &node) { step(node); }, s->node);
  line_ = outer;
  top_ = top;
}

void Compiler::step(const For &node) {
  const Slot begin = expr(node.begin);
  const Slot end = take(1);
  emit({.code = Code::Copy, .to = end, .a = expr(node.end)});
  const Slot var = variable(node.var);
  emit({.code = Code::LoopBegin, .to = var, .a = begin});
  const int test = here();
  emit({.code = Code::LoopTest, .to = var, .a = end});
  stmt(node.body);
  emit({.code = Code::LoopNext, .to = var, .number = node.step, .target = test});
  program_.ops[static_cast<std::size_t>(test)].target = here();
}

void Compiler::step(const If &node) {
  const Slot condition = expr(node.condition);
  const int test = here();
  emit({.code = Code::IfBegin, .a = condition});
  stmt(node.then_body);
  const int middle = here();
  emit({.code = Code::IfElse});
  program_.ops[static_cast<std::size_t>(test)].target = middle;
  if (node.else_body != nullptr)
    stmt(node.else_body);
  program_.ops[static_cast<std::size_t>(middle)].target = here();
  emit({.code = Code::IfEnd});
}

void Compiler::step(const Store &node) {
  const Buffer &buffer = kernel_[node.buffer];
  Op op{.code = Code::Store, .elem = buffer.type.elem, .lanes = node.value->type.lanes};
  op.buffer = to_int(node.buffer);
  if (buffer.space == Space::Register) {
    op.code = Code::StoreRegister;
    op.a = expr(node.value);
    op.has_b = !is_constant(node.index, &op.number) || !in_buffer(buffer, op.number);
    if (op.has_b)
      op.b = expr(node.index);
    emit(op);
    return;
  }
  op.a = expr(node.index);
  op.c = expr(node.value);
  op.number = node.lane_stride;
  op.has_b = node.valid != nullptr;
  if (op.has_b)
    op.b = expr(node.valid);
  const std::string line = first_line(to_text(kernel_, program_.lines.back()));
  op.access = access(node.buffer, AccessKind::Store, line.substr(0, line.find("] = ") + 1));
  emit(op);
}

void Compiler::step(const LoadMatrix &node) {
  Op op{.code = Code::LoadMatrix, .elem = kernel_[node.from].type.elem};
  op.buffer = to_int(node.from);
  op.to = expr(node.to.index);
  op.a = expr(node.index);
  op.access = access(node.from, AccessKind::LoadMatrix, element_text(node.from, node.index));
  emit(op);
}

void Compiler::step(const Mma &node) {
  Op op{.code = Code::Mma};
  op.to = expr(node.acc.index);
  op.a = expr(node.a.index);
  op.b = expr(node.b.index);
  emit(op);
}

void Compiler::step(const AsyncCopy &node) {
  Op op{.code = Code::AsyncCopy, .elem = kernel_[node.to].type.elem, .lanes = node.elems};
  op.buffer = to_int(node.to);
  op.number = to_int(node.from);
  op.a = expr(node.to_index);
  op.c = expr(node.from_index);
  op.has_b = node.valid != nullptr;
  if (op.has_b)
    op.b = expr(node.valid);
  op.access = access(node.to, AccessKind::AsyncWrite, element_text(node.to, node.to_index));
  access(node.from, AccessKind::AsyncRead, element_text(node.from, node.from_index));
  emit(op);
}

void Compiler::step(const Ticket &node) {
  Op op{.code = Code::Ticket};
  op.buffer = to_int(node.counts);
  op.number = to_int(node.to.buffer);
  op.a = expr(node.to.index);
  op.b = expr(node.index);
  emit(op);
}

void Compiler::step(const Mbarrier &node) {
  Op op{.code = Code::Mbarrier};
  op.a = expr(node.at.index);
  op.has_b = node.value != nullptr;
  if (op.has_b)
    op.b = expr(node.value);
  if (node.rank != nullptr)
    op.c = expr(node.rank);
  emit(op);
}

// Where the list of these begins.
std::int64_t Compiler::list(const std::vector<ExprRef> &exprs) {
  const std::size_t first = program_.lists.size();
  for (const ExprRef each : exprs)
    program_.lists.push_back(expr(each));
  return static_cast<std::int64_t>(first);
}

void Compiler::step(const TensorCopy &node) {
  std::vector<ExprRef> coordinates = node.at;
  coordinates.insert(coordinates.end(), node.offsets.begin(), node.offsets.end());
  emit({.code = Code::TensorCopy,
        .a = expr(node.to.index),
        .b = expr(node.signals.index),
        .c = node.ranks != nullptr ? expr(node.ranks) : 0,
        .number = list(coordinates),
        .access = access(kernel_[node.map].tensor, AccessKind::AsyncRead, kernel_[node.map].name)});
}

void Compiler::step(const TensorStore &node) {
  emit({.code = Code::TensorStore,
        .a = expr(node.from.index),
        .number = list(node.at),
        .access = access(kernel_[node.map].tensor, AccessKind::Store, kernel_[node.map].name)});
}

void Compiler::step(const Wgmma &node) {
  Op op{.code = Code::Wgmma};
  op.to = expr(node.acc.index);
  op.a = expr(node.a.index);
  op.b = expr(node.b.index);
  op.has_b = node.accumulate != nullptr;
  if (op.has_b)
    op.c = expr(node.accumulate);
  emit(op);
}

Slot Compiler::value(ExprRef e, const Const &node) {
  const Cell cell = cell_of(node.value, e->type.elem);
  const auto key = std::tuple(e->type.elem, e->type.lanes, static_cast<std::uint64_t>(cell.whole));
  const auto at = static_cast<Slot>(program_.constants.size());
  const auto [found, is_new] = constants_.emplace(key, static_cast<Slot>(~at));
  if (is_new) {
    const auto count =
        static_cast<std::size_t>(e->type.lanes) * static_cast<std::size_t>(program_.width);
    program_.constants.insert(program_.constants.end(), count, cell);
  }
  return found->second;
}

Slot Compiler::value(ExprRef e, const Scalar &node) {
  Op op{.code = node.op == ScalarOp::Select ? Code::Select : Code::Apply, .scalar = node.op};
  op.elem = node.args.back()->type.elem;
  op.a = expr(node.args[0]);
  op.has_b = node.args.size() > 1;
  if (op.has_b)
    op.b = expr(node.args[1]);
  if (node.args.size() > 2)
    op.c = expr(node.args[2]);
  return result(e, op);
}

Slot Compiler::value(ExprRef e, const Fma &node) {
  Op op{.code = Code::Fma, .elem = e->type.elem};
  op.a = expr(node.a);
  op.b = expr(node.b);
  op.c = expr(node.c);
  return result(e, op);
}

Slot Compiler::value(ExprRef e, const Cast &node) {
  return result(e, {.code = Code::Convert, .elem = node.value->type.elem, .a = expr(node.value)});
}

Slot Compiler::value(ExprRef e, const Broadcast &node) {
  return result(e, {.code = Code::Broadcast, .elem = e->type.elem, .a = expr(node.value)});
}

Slot Compiler::register_value(ExprRef e, const Load &node) {
  const RegisterPlace &from = place(node.buffer);
  std::int64_t at = 0;
  const bool is_known = is_constant(node.index, &at) && in_buffer(kernel_[node.buffer], at);
  if (e->type.lanes != from.lanes)
    return gathered_registers(e, node, at);
  Op op{.code = is_known ? Code::CheckRegister : Code::LoadRegister, .elem = e->type.elem};
  op.buffer = to_int(node.buffer);
  op.number = at;
  if (is_known) {
    emit(op);
    return from.slot + static_cast<Slot>(at * from.lanes * program_.width);
  }
  op.a = expr(node.index);
  return result(e, op);
}

// Lane by lane from values of one lane; the index is constant (kernel/verify.h).
Slot Compiler::gathered_registers(ExprRef e, const Load &node, std::int64_t first) {
  const Slot to = take(e->type.lanes);
  for (int lane = 0; lane < e->type.lanes; ++lane) {
    const std::int64_t number = first + lane * node.lane_stride;
    Op check{.code = Code::CheckRegister, .elem = e->type.elem};
    check.buffer = to_int(node.buffer);
    check.number = number;
    emit(check);
    emit({.code = Code::Copy,
          .to = to + lane * program_.width,
          .a = place(node.buffer).slot + static_cast<Slot>(number * program_.width)});
  }
  return to;
}

Slot Compiler::value(ExprRef e, const Load &node) {
  if (kernel_[node.buffer].space == Space::Register)
    return register_value(e, node);
  Op op{.code = Code::Load, .elem = e->type.elem};
  op.buffer = to_int(node.buffer);
  op.a = expr(node.index);
  op.number = node.lane_stride;
  op.fill = node.fill;
  op.has_b = node.valid != nullptr;
  if (op.has_b)
    op.b = expr(node.valid);
  op.access = access(node.buffer, AccessKind::Load, to_text(kernel_, e));
  return result(e, op);
}

} // namespace

Program compile(const Kernel &kernel, int width) { return Compiler(kernel, width).run(); }

} // namespace tilefuse::kernel::simulation
