// SPDX-License-Identifier: Apache-2.0
// Matrix instructions, and the copies and counts that feed them.
#include "kernel/simulation/compiler.h"

namespace tilefuse::kernel::simulation {

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

} // namespace tilefuse::kernel::simulation
