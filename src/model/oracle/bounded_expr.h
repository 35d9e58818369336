// SPDX-License-Identifier: Apache-2.0
// A pointwise expression at one point, with the rounding error that its evaluation in its own types
// may have.
#pragma once

#include <vector>

#include "program/expr.h"

namespace tilefuse::nest {

struct Bounded {
  double value = 0;
  double error = 0; // >= 0
};

struct ExprPoint {
  std::vector<Bounded> operands;
  Bounded acc;
};

// The value in double precision; `error` holds for any evaluation that rounds every operation in
// the type it is computed in (float for the half types) with the accuracy of OpenCL C.
Bounded evaluate_bounded(const program::Expr &expr, const ExprPoint &point);

// Half a unit in the last place of 1 of the type that arithmetic on `type` is done in; 0 for
// integers.
double unit_roundoff(DType type);
// The most that storing `value` as `type` changes it.
double storage_error(DType type, double value);

} // namespace tilefuse::nest
