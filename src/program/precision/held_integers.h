// SPDX-License-Identifier: Apache-2.0
// Integers of 8 bits that an expression only rounds to and reads back stay floats, where a kernel
// makes them and what follows:
//
//   f32(i32(u8(round($0) + 113)) + -113)   becomes   round(min(max($0, -113), 142))
#pragma once

#include "program/expr.h"

namespace tilefuse::program {

// The same numbers, for every value that is one.
Expr held_integers(const Expr &expr);

} // namespace tilefuse::program
