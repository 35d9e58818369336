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

// The expression at every position. Casts to integers follow cast_to_integer of target/dtype.h;
// casts between floating types change nothing. Whole numbers wrap to their type after each
// operation, as does an integer accumulator.
std::vector<double> evaluate_rows(const program::Expr &expr, const ExprRows &rows);

} // namespace tilefuse::nest
