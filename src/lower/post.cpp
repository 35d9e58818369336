// SPDX-License-Identifier: Apache-2.0
#include "lower/post.h"

#include "base/index.h"
#include "kernel/rounding.h"
#include "lower/context.h"
#include "nest/index.h"
#include "program/known_division.h"
#include "program/value_range.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using program::Expr;
using program::KnownDivision;

// The operations whose result may lie outside the type of their i32 arguments.
bool may_overflow(ScalarOp op) {
  return is_one_of(op, {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div, ScalarOp::Neg,
                        ScalarOp::Abs});
}

ExprRef wrapped(kernel::Builder &b, ExprRef value) {
  return b.cast(b.cast(value, DType::I64), DType::I32);
}

// A tensor's i32 wraps, while the kernel's own i32 is an index: back ends may hold it wider and
// assume that it does not overflow.
ExprRef wrapping(kernel::Builder &b, ScalarOp op, std::vector<ExprRef> args) {
  for (ExprRef &arg : args)
    arg = b.cast(arg, DType::I64);
  return b.cast(b.scalar(op, std::move(args)), DType::I32);
}

// The accumulator as the value the nest means: a reduction of bool is held as a number.
ExprRef finished(kernel::Builder &b, ExprRef acc, kernel::Type type) {
  if (type.elem == DType::Bool && acc->type.elem != DType::Bool)
    return b.scalar(ScalarOp::Ne, {acc, b.real(0, acc->type)});
  return acc->type.elem == DType::I32 ? wrapped(b, acc) : acc;
}

// x / divisor where it is rounded to a whole number at once.
ExprRef divided(kernel::Builder &b, ExprRef x, Reciprocal by) {
  const ExprRef high = b.real(static_cast<double>(by.high), x->type);
  if (by.low == 0)
    return b.mul(x, high);
  return b.fma(x, high, b.mul(x, b.real(static_cast<double>(by.low), x->type)));
}

// Operations that every back end rounds alike, of scalars as of vectors.
bool is_exact(ScalarOp op) {
  return is_one_of(op, {ScalarOp::Add, ScalarOp::Sub, ScalarOp::Mul, ScalarOp::Div, ScalarOp::Neg,
                        ScalarOp::Abs, ScalarOp::Sqrt, ScalarOp::Min, ScalarOp::Max});
}

// The value in one lane of what is the same in all; null where it need not be.
ExprRef one_lane(kernel::Builder &b, ExprRef value) {
  if (const auto *spread = std::get_if<kernel::Broadcast>(&value->node))
    return spread->value->type.lanes == 1 ? spread->value : nullptr;
  const auto *constant = std::get_if<kernel::Const>(&value->node);
  return constant ? b.real(constant->value, {value->type.elem, 1}) : nullptr;
}

// An operation, done once for all lanes where its arguments are the same in each.
ExprRef applied(kernel::Builder &b, ScalarOp op, std::vector<ExprRef> args) {
  const int lanes = args.front()->type.lanes;
  std::vector<ExprRef> scalars;
  for (const ExprRef arg : args)
    if (const ExprRef one = one_lane(b, arg))
      scalars.push_back(one);
  if (lanes == 1 || !is_exact(op) || scalars.size() < args.size())
    return b.scalar(op, std::move(args));
  return b.broadcast(b.scalar(op, std::move(scalars)), lanes);
}

bool is_below(const Expr &expr, double limit) {
  return expr.type == DType::F32 && largest(program::value_range(expr)) < limit;
}

// An expression as it is evaluated: in so many lanes, of an accumulator and operands.
class Evaluation {
public:
  Evaluation(kernel::Builder &b, int lanes, ExprRef acc, const std::function<ExprRef(int)> &load)
      : b_(b), lanes_(lanes), acc_(acc), load_(load) {}

  // `known`: the division below the rounding that the expression is part of.
  ExprRef value(const Expr &expr, const KnownDivision &known = {}) const {
    const kernel::Type type{compute_type(expr.type), lanes_};
    switch (expr.kind) {
    case Expr::Kind::Acc:
      return finished(b_, acc_, type);
    case Expr::Kind::Const:
      return b_.real(expr.value, type);
    case Expr::Kind::Operand:
      return load_(expr.operand);
    case Expr::Kind::Cast:
      return b_.cast(value(expr.args[0]), type.elem);
    case Expr::Kind::Call:
      break;
    }
    return &expr == known.division ? divided(b_, value(expr.args[0]), known.by)
                                   : called(expr, type, known);
  }

private:
  ExprRef called(const Expr &expr, kernel::Type type, const KnownDivision &known) const {
    const KnownDivision inside = program::known_division(expr).value_or(known);
    std::vector<ExprRef> args;
    for (const Expr &arg : expr.args)
      args.push_back(value(arg, inside));
    if (expr.op == ScalarOp::Round && is_below(expr.args[0], 0x1p22))
      return kernel::round_by_sums(b_, args[0]);
    if (type.elem == DType::I32 && may_overflow(expr.op))
      return wrapping(b_, expr.op, std::move(args));
    return applied(b_, expr.op, std::move(args));
  }

  kernel::Builder &b_;
  int lanes_;
  ExprRef acc_;
  const std::function<ExprRef(int)> &load_;
};

} // namespace

ExprRef expr_value(kernel::Builder &b, const Expr &expr, int lanes, ExprRef acc,
                   const std::function<ExprRef(int)> &load) {
  return Evaluation(b, lanes, acc, load).value(expr);
}

ExprRef extra_value(const Context &cx, const nest::Operand &operand, ExprRef valid) {
  const nest::Linear at = nest::flat(operand, cx.nest.indices.size());
  const std::optional<IndexId> lane = vector_index(cx.schedule);
  const std::int64_t stride = lane ? at.coeff[*lane] : 0;
  const kernel::BufferId buffer = cx.slot_buffers[operand.slot];
  const ExprRef index = linear(cx, at, points(cx));
  const DType type = type_of(cx.nest, operand);
  const bool spread = stride != 0 && cx.result_width() > 1;
  // A work-item past the edge reads nothing either.
  const ExprRef guard = spread || !cx.is_vector() ? valid : nullptr;
  const ExprRef raw =
      cx.build.load(buffer, index, spread ? cx.result_width() : 1, spread ? stride : 1, guard);
  const ExprRef value = cx.build.cast(raw, compute_type(type));
  return spread ? value : cx.build.broadcast(value, cx.result_width());
}

ExprRef post_value(const Context &cx, const Expr &post, ExprRef acc, ExprRef valid) {
  const auto load = [&](int operand) {
    return extra_value(cx, cx.nest.extras[at(operand)], valid);
  };
  return expr_value(cx.build, post, cx.result_width(), acc, load);
}

ExprRef map_value(kernel::Builder &b, const nest::Nest &map, int lanes,
                  const std::function<ExprRef(int)> &load) {
  const DType stored = type_of(map, map.out);
  return b.cast(expr_value(b, map.post, lanes, nullptr, load), stored);
}

ExprRef shared_run(kernel::Builder &b, kernel::BufferId from, ExprRef element, int lanes,
                   std::int64_t stride, ExprRef valid) {
  const DType type = compute_type(b.kernel()[from].type.elem);
  return stride == 0 ? b.broadcast(b.cast(b.load(from, element, 1, 1, valid), type), lanes)
                     : b.cast(b.load(from, element, lanes, stride, valid), type);
}

ExprRef aggregate(kernel::Builder &build, program::Agg agg, ExprRef old, ExprRef value) {
  switch (agg) {
  case program::Agg::Assign:
    return value;
  case program::Agg::Sum:
    return build.scalar(ScalarOp::Add, {old, value});
  case program::Agg::Product:
    return build.scalar(ScalarOp::Mul, {old, value});
  case program::Agg::Max:
    return build.scalar(ScalarOp::Max, {old, value});
  case program::Agg::Min:
    return build.scalar(ScalarOp::Min, {old, value});
  }
  return value;
}

} // namespace tilefuse::lower
