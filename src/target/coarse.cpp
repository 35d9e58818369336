// SPDX-License-Identifier: Apache-2.0
#include "target/coarse.h"

#include <algorithm>

#include "target/dtype_traits.h"

namespace tilefuse {

bool is_coarse(ScalarOp op, Coarse allowed) {
  switch (op) {
  case ScalarOp::Exp:
  case ScalarOp::Tanh:
  case ScalarOp::Erf:
    return allowed == Coarse::All;
  case ScalarOp::Div:
    return allowed != Coarse::None;
  default:
    return false;
  }
}

Coarse allowed_below(ScalarOp op, Coarse allowed) {
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
  case ScalarOp::Mul:
  case ScalarOp::Div:
  case ScalarOp::Neg:
  case ScalarOp::Abs:
  case ScalarOp::Max:
  case ScalarOp::Min:
  case ScalarOp::Select:
    return allowed;
  case ScalarOp::RoundF16:
  case ScalarOp::RoundBF16:
  case ScalarOp::Coarse:
    return Coarse::All;
  case ScalarOp::Exp:
  case ScalarOp::Log:
  case ScalarOp::Sqrt:
  case ScalarOp::Tanh:
  case ScalarOp::Erf:
    return std::min(allowed, Coarse::Quotients);
  default:
    return Coarse::None;
  }
}

Coarse allowed_below_cast(DType from, DType to, Coarse allowed) {
  if (!is_float(from) || !is_float(to))
    return Coarse::None;
  return is_half(to) ? Coarse::All : allowed;
}

} // namespace tilefuse
