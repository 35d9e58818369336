// SPDX-License-Identifier: Apache-2.0
// What an expression costs.
#pragma once

#include "program/expr.h"

namespace tilefuse::cost {

// Vector or work-item operations of one evaluation of an expression, in multiply-adds.
double expression_slots(const program::Expr &expr);

} // namespace tilefuse::cost
