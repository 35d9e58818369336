// SPDX-License-Identifier: Apache-2.0
#include "lower/context.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using program::Expr;

ExprRef load_extra(const Context &cx, const nest::Operand &operand, ExprRef valid) {
  const nest::Linear at = nest::flat(operand, cx.nest.indices.size());
  const int lane = vector_index(cx.schedule);
  const std::int64_t stride = lane < 0 ? 0 : at.coeff[static_cast<std::size_t>(lane)];
  const kernel::BufferId buffer = cx.slot_buffers[static_cast<std::size_t>(operand.slot)];
  const ExprRef index = linear(cx, at, points(cx));
  const DType type = cx.nest.slots[static_cast<std::size_t>(operand.slot)].type;
  const bool spread = stride != 0 && cx.width() > 1;
  // A work-item past the edge reads nothing either.
  const ExprRef guard = spread || !cx.is_vector() ? valid : nullptr;
  const ExprRef raw =
      cx.build.load(buffer, index, spread ? cx.width() : 1, spread ? stride : 1, guard);
  const ExprRef value = cx.build.cast(raw, compute_type(type));
  return spread ? value : cx.build.broadcast(value, cx.width());
}

// The operations whose result may lie outside the type of their i32 arguments.
bool may_overflow(ScalarOp op) {
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Div:
  case ScalarOp::Neg:
  case ScalarOp::Abs:
    return true;
  default:
    return false;
  }
}

ExprRef wrapped(const Context &cx, ExprRef value) {
  return cx.build.cast(cx.build.cast(value, DType::I64), DType::I32);
}

// A tensor's i32 wraps, while the kernel's own i32 is an index: back ends may hold it wider and
// assume that it does not overflow.
ExprRef wrapping(const Context &cx, ScalarOp op, std::vector<ExprRef> args) {
  for (ExprRef &arg : args)
    arg = cx.build.cast(arg, DType::I64);
  return cx.build.cast(cx.build.scalar(op, std::move(args)), DType::I32);
}

// The accumulator as the value the nest means: a reduction of bool is held as a number.
ExprRef finished(const Context &cx, ExprRef acc, kernel::Type type) {
  if (type.elem == DType::Bool && acc->type.elem != DType::Bool)
    return cx.build.scalar(ScalarOp::Ne, {acc, cx.build.real(0, acc->type)});
  return acc->type.elem == DType::I32 ? wrapped(cx, acc) : acc;
}

} // namespace

ExprRef post_value(const Context &cx, const Expr &post, ExprRef acc, ExprRef valid) {
  const kernel::Type type{compute_type(post.type), cx.width()};
  switch (post.kind) {
  case Expr::Kind::Acc:
    return finished(cx, acc, type);
  case Expr::Kind::Const:
    return cx.build.real(post.value, type);
  case Expr::Kind::Operand:
    return load_extra(cx, cx.nest.extras[static_cast<std::size_t>(post.operand)], valid);
  case Expr::Kind::Cast:
    return cx.build.cast(post_value(cx, post.args[0], acc, valid), type.elem);
  case Expr::Kind::Call:
    break;
  }
  std::vector<ExprRef> args;
  for (const Expr &arg : post.args)
    args.push_back(post_value(cx, arg, acc, valid));
  if (type.elem == DType::I32 && may_overflow(post.op))
    return wrapping(cx, post.op, std::move(args));
  return cx.build.scalar(post.op, std::move(args));
}

} // namespace tilefuse::lower
