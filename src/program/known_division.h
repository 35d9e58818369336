// SPDX-License-Identifier: Apache-2.0
// Divisions of which two products make the same integers: what is divided by a constant and rounded
// to a whole number at once, as QuantizeLinear does, or between constant bounds.
//
//   round(x / 0.0625)                   x * 16
//   round(x / 0.3)                      fma(x, 3.33333325, x * 7.9e-8)
//   round(min(max(x / 0.3, 0), 255))    likewise
#pragma once

#include <optional>

#include "base/reciprocal.h"
#include "program/expr.h"

namespace tilefuse::program {

struct KnownDivision {
  const Expr *division = nullptr; // below the rounding
  Reciprocal by;                  // the products in its place
};

// The division of which `round` is the rounding; nothing where it is of something else, or where
// one x would come out otherwise (base/reciprocal.h).
std::optional<KnownDivision> known_division(const Expr &round);

} // namespace tilefuse::program
