// SPDX-License-Identifier: Apache-2.0
#include "cost/expression.h"

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

// `allowed` of the value, where coarse operations have short forms.
double slots_of(const program::Expr &expr, Coarse allowed, bool has_coarse) {
  double slots = 0;
  if (program::known_division(expr)) // two products, a sum that rounds
    return slots_of(expr.args[0].args[0], allowed, has_coarse) + 3;
  if (has_coarse && is_half(expr.type))
    allowed = Coarse::All;
  for (const program::Expr &arg : expr.args)
    slots += slots_of(arg,
                      expr.kind == program::Expr::Kind::Cast
                          ? allowed_below_cast(arg.type, expr.type, allowed)
                          : allowed_below(expr.op, allowed),
                      has_coarse);
  if (expr.kind == program::Expr::Kind::Operand)
    return slots + 1;
  if (expr.kind != program::Expr::Kind::Call)
    return slots;
  if (is_coarse(expr.op, allowed))
    return slots + coarse_slots(expr.op);
  switch (expr.op) {
  case ScalarOp::Exp:
  case ScalarOp::Tanh:
  case ScalarOp::Log:
    return slots + 30;
  case ScalarOp::Erf:
    return slots + 50;
  case ScalarOp::Pow: // in double
    return slots + 150;
  case ScalarOp::Sin: // by the C library on a CPU
  case ScalarOp::Cos:
    return slots + 200;
  case ScalarOp::Div:
  case ScalarOp::Sqrt:
    return slots + 10;
  default:
    return slots + 1;
  }
}

} // namespace

double expression_slots(const program::Expr &expr, bool has_coarse) {
  return slots_of(expr, Coarse::None, has_coarse);
}

} // namespace tilefuse::cost
