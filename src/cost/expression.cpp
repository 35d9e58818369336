// SPDX-License-Identifier: Apache-2.0
#include "cost/expression.h"

#include <algorithm>

#include "program/known_division.h"
#include "target/coarse.h"
#include "target/dtype_traits.h"

namespace tilefuse::cost {
namespace {

// Of a coarse operation.
double coarse_slots(ScalarOp op) {
  if (op == ScalarOp::Exp)
    return 5;
  return op == ScalarOp::Div ? 8 : 18;
}

// Of an operation, besides its arguments.
double operation_slots(ScalarOp op) {
  switch (op) {
  case ScalarOp::Exp:
  case ScalarOp::Tanh:
  case ScalarOp::Log:
    return 30;
  case ScalarOp::Erf:
    return 50;
  case ScalarOp::Pow: // in double
    return 150;
  case ScalarOp::Sin: // by the C library on a CPU
  case ScalarOp::Cos:
    return 200;
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
    return 10;
  case ScalarOp::Coarse:
    return 0;
  default:
    return 1;
  }
}

constexpr double kKnownDivisionSlots = 2; // products (program/known_division.h)

class Counting {
public:
  Counting(bool has_coarse, const OperandShare &share) : has_coarse_(has_coarse), share_(share) {}

  struct Slots {
    double sum = 0;
    double share = 0; // of evaluations in which the value is another
  };

  // `allowed` of the value, where coarse operations have short forms; `known`: the division in whose
  // place are products, if there is one.
  Slots of(const program::Expr &expr, Coarse allowed, const program::Expr *known = nullptr) const {
    using Kind = program::Expr::Kind;
    const bool is_known = &expr == known;
    if (const auto inside = program::known_division(expr))
      known = inside->division;
    if (has_coarse_ && is_half(expr.type))
      allowed = Coarse::All;
    Slots slots;
    for (const program::Expr &arg : expr.args) {
      const Slots part =
          of(arg,
             expr.kind == Kind::Cast       ? allowed_below_cast(arg.type, expr.type, allowed)
             : expr.op == ScalarOp::Coarse ? (has_coarse_ ? Coarse::All : allowed)
                                           : allowed_below(expr.op, allowed),
             known);
      slots = {slots.sum + part.sum, std::max(slots.share, part.share)};
    }
    if (expr.kind == Kind::Operand)
      slots.share = share_ ? share_(expr.operand) : 1;
    if (expr.kind == Kind::Acc)
      slots.share = 1;
    if (expr.kind == Kind::Operand)
      slots.sum = slots.share;
    if (expr.kind == Kind::Call)
      slots.sum += slots.share * (is_known                      ? kKnownDivisionSlots
                                  : is_coarse(expr.op, allowed) ? coarse_slots(expr.op)
                                                                : operation_slots(expr.op));
    return slots;
  }

private:
  const bool has_coarse_;
  const OperandShare &share_;
};

} // namespace

double expression_slots(const program::Expr &expr, bool has_coarse, const OperandShare &share) {
  return Counting(has_coarse, share).of(expr, Coarse::None).sum;
}

} // namespace tilefuse::cost
