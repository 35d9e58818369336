// SPDX-License-Identifier: Apache-2.0
// What an expression costs.
#pragma once

#include <functional>

#include "program/expr.h"

namespace tilefuse::cost {

// In how many of the evaluations an operand is another: 1 divided by the lanes in which it is the same.
using OperandShare = std::function<double(int operand)>;

// Vector or work-item operations of one evaluation of an expression, in multiply-adds. `has_coarse`:
// coarse operations have short forms (target/coarse.h). With `share`, operations of which all operands
// are the same in several lanes are done once for these.
double expression_slots(const program::Expr &expr, bool has_coarse = false,
                        const OperandShare &share = nullptr);

} // namespace tilefuse::cost
