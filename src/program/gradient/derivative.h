// SPDX-License-Identifier: Apache-2.0
// Derivatives of pointwise expressions, in reverse: from the gradient of a value to those of the
// operands it is made of. Every scalar operation has a rule:
//
// - floor, ceil, round, comparisons and logic have the derivative 0; so has everything that passes
//   through an integer or a bool.
// - max and min give all of the gradient to the argument that they return: the first of equal ones,
//   but none where the other is a constant, so that relu, max(x, 0), has the derivative 0 at 0.
// - abs has the derivative 0 at 0. pow(a, b) has that of its limit where a or b is 0. mod(a, b) is
//   a - b * trunc(a / b), the last factor taken as constant.
// - select gives the gradient to the branch taken. The other branch is chosen away, not multiplied
//   by 0, so that what overflows in it does no harm.
// - 1 / (1 + exp(v)) is differentiated as the logistic function it is, which cannot overflow.
//
// The gradient of a value of type T is computed in the accumulator type of T.
#pragma once

#include <map>
#include <vector>

#include "program/expr.h"

namespace tilefuse::program {

// The gradient of `expr` by each operand k with wanted[k] that has any, given the gradient
// `adjoint` by its result, in the accumulator type of operand k. `value` stands for the result
// where a rule can use it (exp, tanh, …). The size of a gradient grows with the square of that of
// `expr` (split_maps.h).
std::map<int, Expr> derivatives(const Expr &expr, const Expr &adjoint, const Expr &value,
                                const std::vector<bool> &wanted);

} // namespace tilefuse::program
