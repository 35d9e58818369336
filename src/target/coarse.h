// SPDX-License-Identifier: Apache-2.0
// Where arithmetic need not be exact to f32, because what it goes into has the digits of half
// precision: an operation below a cast to f16 or bf16, or below a rounding to one. A back end may
// there compute
//
//   All        exp, tanh and erf with errors up to kCoarseError of the result, of an erf also of its
//              distance from 1, 64 times finer than a half's own rounding of that term: through sums,
//              products, quotients, choices and casts
//   Quotients  quotients within two units in the last place of f32: through smooth functions too
//
//   f16(x * (erf(x / 1.41421) + 1))     the erf is All, the quotient in it Quotients
//   f16(floor(x / y)), exp(x) of f32    exact
//   coarse(exp(x))                      All: what it goes into elsewhere hides it
#pragma once

#include "target/dtype.h"

namespace tilefuse {

enum class Coarse { None, Quotients, All };

inline constexpr double kCoarseError = 1.0 / (1 << 17);

// Whether an operation on f32 may be computed coarsely.
bool is_coarse(ScalarOp op, Coarse allowed);
// What is allowed of the arguments of an operation of which so much is.
Coarse allowed_below(ScalarOp op, Coarse allowed);
// The same of what a cast from one type to another converts.
Coarse allowed_below_cast(DType from, DType to, Coarse allowed);

} // namespace tilefuse
