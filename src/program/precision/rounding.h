// SPDX-License-Identifier: Apache-2.0
// Rounding to integers of 8 bits as expressions have it: u8(max(min(round(value) + zero, high), low)).
#pragma once

#include <functional>
#include <optional>

#include "program/precision/scaled.h"

namespace tilefuse::program {

struct Rounding {
  const Expr *value = nullptr; // what is rounded; borrowed
  Grid zero;
  double low = 0; // of the integers
  double high = 0;
};

// The value of an expression that is made of constants alone.
using ConstantOf = std::function<std::optional<Grid>(const Expr &)>;

// Nothing where the expression does not round f32 to integers of 8 bits.
std::optional<Rounding> as_rounding(const Expr &expr, const ConstantOf &constant_of);
// For integers that are `by` more.
Rounding shifted(Rounding rounding, double by);
// `value` rounded so; bounds that the type has are not written.
Expr rounded(Program &program, Operands &operands, Expr value, const Rounding &rounding,
             DType type);

} // namespace tilefuse::program
