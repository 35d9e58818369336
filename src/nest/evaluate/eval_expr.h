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

// A cast of an expression: to integers by cast_to_integer of target/dtype.h, to f32 the nearest. To
// f16 and bf16 it changes nothing, for what is stored in them is computed in f32 (program::cast);
// RoundF16 and RoundBF16 round.
double cast_value(double value, DType from, DType to);
// The expression at every position. Casts follow cast_value. Whole numbers wrap to their type after
// each operation, as does an integer accumulator.
std::vector<double> evaluate_rows(const program::Expr &expr, const ExprRows &rows);

} // namespace tilefuse::nest
