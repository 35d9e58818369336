// SPDX-License-Identifier: Apache-2.0
// Divisions of which two products make the same integers: what is divided by a constant and rounded
// to a whole number at once, as QuantizeLinear does.
//
//   round(x / 0.0625)        x * 16
//   round(x / 0.3)           fma(x, 3.33333325, x * 7.9e-8)
#pragma once

#include <optional>

#include "base/reciprocal.h"
#include "program/expr.h"

namespace tilefuse::program {

// The products in the place of the division of which `round` is the rounding; nothing where it is of
// something else, or where one x would come out otherwise (base/reciprocal.h).
std::optional<Reciprocal> known_division(const Expr &round);

} // namespace tilefuse::program
