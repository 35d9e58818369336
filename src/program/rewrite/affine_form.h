// SPDX-License-Identifier: Apache-2.0
// Expressions that are affine in the values of two operands.
//
//   f32($0) * $2 + $3 * (f32($1) - $4)    is    $2 of $0, $3 of $1, and $3 * -$4
#pragma once

#include <array>
#include <optional>

#include "program/expr.h"

namespace tilefuse::program {

using Factor = std::optional<Expr>; // in f32; nothing: 0

// factors[0] * value + factors[1] * value + rest, where none of them reads either value.
struct AffineForm {
  std::array<Factor, 2> factors;
  Factor rest;
  bool is_constant() const { return !factors[0] && !factors[1]; }
};

// Of the operands at these positions, seen in f32. Nothing where the expression is not of the form,
// or rounds one of them.
std::optional<AffineForm> affine_form(const Expr &expr, const std::array<int, 2> &of);

} // namespace tilefuse::program
