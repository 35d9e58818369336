// SPDX-License-Identifier: Apache-2.0
// Numbers that are rounded to whole ones by two additions, and bounds of numbers: built for kernels, and found
// in them by back ends whose devices do more than one of these operations at once.
#pragma once

#include <optional>

#include "kernel/build.h"

namespace tilefuse::kernel {

// A number below 2^22 rounded to even, which devices do quicker so than they round: x + w - w.
ExprRef round_by_sums(Builder &build, ExprRef x);

// What round_by_sums() rounds; null of other expressions.
ExprRef rounded_by_sums(ExprRef expr);

// The operation that an expression is; null where it is another.
const Scalar *call_of(ExprRef expr, ScalarOp op);

std::optional<double> constant_of(ExprRef expr);

// min(max(value, low), high) of constants.
struct Held {
  ExprRef value{};
  double low = 0, high = 0;
};
std::optional<Held> held(ExprRef expr);

} // namespace tilefuse::kernel
