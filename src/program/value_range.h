// SPDX-License-Identifier: Apache-2.0
// Between which numbers the values of an expression lie, as far as types and constants tell.
//
//   min(max($0, -113), 142)   -113 to 142
//   f32(i32($0) + -7)         -7 to 248      $0 of u8
#pragma once

#include "program/expr.h"

namespace tilefuse::program {

// Infinite where nothing bounds them. What is no number lies nowhere.
struct ValueRange {
  double low = 0;
  double high = 0;
};

ValueRange value_range(const Expr &expr);
// The farthest from zero.
double largest(const ValueRange &range);

} // namespace tilefuse::program
