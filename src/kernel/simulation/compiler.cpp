// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulation/compiler.h"

#include <algorithm>
#include <tuple>

#include "base/index.h"
#include "kernel/build.h"
#include "kernel/simulation/math.h"

namespace tilefuse::kernel::simulation {
namespace {

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

bool in_buffer(const Buffer &buffer, std::int64_t index) {
  return index >= 0 && index < buffer.elems;
}

} // namespace

void Compiler::place_registers() {
  std::int64_t number = 0;
  for (const Buffer &buffer : kernel_.buffers) {
    RegisterPlace &at = program_.registers.emplace_back();
    if (buffer.space != Space::Register)
      continue;
    if (buffer.elems > kMaxCells)
      too_large();
    const int lanes = buffer.type.lanes * std::max(1, buffer.rows);
    at = {take(buffer.elems * lanes), static_cast<int>(number), lanes};
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
  program_.ops[at(test)].target = here();
}

void Compiler::step(const If &node) {
  const Slot condition = expr(node.condition);
  const int test = here();
  emit({.code = Code::IfBegin, .a = condition});
  stmt(node.then_body);
  const int middle = here();
  emit({.code = Code::IfElse});
  program_.ops[at(test)].target = middle;
  if (node.else_body != nullptr)
    stmt(node.else_body);
  program_.ops[at(middle)].target = here();
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
    // Further lanes to further values; the index is constant (kernel/verify.h).
    for (int lane = buffer.type.lanes; lane < op.lanes; ++lane) {
      op.a += op.a < 0 ? -program_.width : program_.width;
      ++op.number;
      emit(op);
    }
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

bool Compiler::is_register(const Operand &operand) const {
  const auto *element = std::get_if<ElementOperand>(&operand.at);
  return element != nullptr && kernel_[*element->buffer].space == Space::Register;
}

int Compiler::access(const Operand &operand, AccessKind kind) {
  if (MapId *const *id = std::get_if<MapId *>(&operand.at))
    return access(kernel_[**id].tensor, kind, kernel_[**id].name);
  const auto element = [&](BufferId buffer, ExprRef index) {
    return access(buffer, kind,
                  fmt::format("{}[{}]", kernel_[buffer].name, to_text(kernel_, index)));
  };
  if (const auto *run = std::get_if<RunOperand>(&operand.at))
    return element(*run->buffer, *run->index);
  const auto &one = std::get<ElementOperand>(operand.at);
  return element(*one.buffer, *one.index);
}

void Compiler::step(const Intrinsic &node) {
  std::vector<OperandSlot> slots;
  for (const ExprRef each : expressions(node))
    slots.push_back({each, expr(each)});
  Op op{.code = Code::Intrinsic};
  op.number = static_cast<std::int64_t>(program_.operands.size());
  op.operands = static_cast<int>(slots.size());
  program_.operands.insert(program_.operands.end(), slots.begin(), slots.end());
  for (const Operand &operand : operands(node)) {
    if (const auto *run = std::get_if<RunOperand>(&operand.at))
      op.lanes = *run->elems;
    if (!operand.counted || is_register(operand))
      continue;
    const int number = access(operand, *operand.counted);
    op.access = op.access < 0 ? number : op.access;
  }
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

Slot Compiler::value(ExprRef e, const Dot &node) {
  Op op{.code = Code::Dot, .elem = e->type.elem, .number = node.op->products};
  op.a = expr(node.a);
  op.b = expr(node.b);
  op.c = expr(node.c);
  return result(e, op);
}

Slot Compiler::value(ExprRef e, const Cast &node) {
  return result(e, {.code = Code::Convert, .elem = node.value->type.elem, .a = expr(node.value)});
}

Slot Compiler::value(ExprRef e, const Broadcast &node) {
  return result(e, {.code = Code::Broadcast,
                    .elem = e->type.elem,
                    .a = expr(node.value),
                    .number = node.value->type.lanes});
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
  if (node.rank != nullptr) {
    op.code = Code::LoadOfRank;
    op.c = expr(node.rank);
  }
  op.access = access(node.buffer, AccessKind::Load, to_text(kernel_, e));
  return result(e, op);
}

Program compile(const Kernel &kernel, int width) { return Compiler(kernel, width).run(); }

} // namespace tilefuse::kernel::simulation
