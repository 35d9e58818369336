// SPDX-License-Identifier: Apache-2.0
#include "cost/expression.h"

namespace tilefuse::cost {

double expression_slots(const program::Expr &expr) {
  double slots = 0;
  for (const program::Expr &arg : expr.args)
    slots += expression_slots(arg);
  if (expr.kind == program::Expr::Kind::Operand)
    return slots + 1;
  if (expr.kind != program::Expr::Kind::Call)
    return slots;
  switch (expr.op) {
  case ScalarOp::Exp:
  case ScalarOp::Tanh:
    return slots + 30;
  case ScalarOp::Log:
  case ScalarOp::Pow:
  case ScalarOp::Erf:
  case ScalarOp::Sin:
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
