// SPDX-License-Identifier: Apache-2.0
// What an expression costs.
#pragma once

#include "program/expr.h"

namespace tilefuse::cost {

// Vector or work-item operations of one evaluation of an expression, in multiply-adds. `has_coarse`:
// coarse operations have short forms (target/coarse.h).
double expression_slots(const program::Expr &expr, bool has_coarse = false);

} // namespace tilefuse::cost
