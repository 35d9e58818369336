// SPDX-License-Identifier: Apache-2.0
#include "cost/expression.h"

#include "program/known_division.h"

namespace tilefuse::cost {

double expression_slots(const program::Expr &expr) {
  double slots = 0;
  if (program::known_division(expr)) // two products, a sum that rounds
    return expression_slots(expr.args[0].args[0]) + 3;
  for (const program::Expr &arg : expr.args)
    slots += expression_slots(arg);
  if (expr.kind == program::Expr::Kind::Operand)
    return slots + 1;
  if (expr.kind != program::Expr::Kind::Call)
    return slots;
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

} // namespace tilefuse::cost
