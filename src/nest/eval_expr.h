// SPDX-License-Identifier: Apache-2.0
// Pointwise expressions on rows of doubles.
#pragma once

#include <vector>

#include "program/expr.h"

namespace tilefuse::nest {

// Rows of at least `count` values each. `acc` may be null when the expression does not read it.
struct ExprRows {
  std::vector<const double *> operands;
  const double *acc = nullptr;
  std::size_t count = 0;
};

// The expression at every position. Casts to integers truncate and saturate, casts to Bool test for
// zero; casts between floating types change nothing.
std::vector<double> evaluate_rows(const program::Expr &expr, const ExprRows &rows);

} // namespace tilefuse::nest
