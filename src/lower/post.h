// SPDX-License-Identifier: Apache-2.0
// Scalar expressions of nests in kernels.
#pragma once

#include <functional>

#include "kernel/build.h"
#include "program/expr.h"
#include "program/program.h"

namespace tilefuse::lower {

// `expr` in `lanes` lanes. `acc` is the finished accumulator (null in a pure map), `load` gives an
// operand in the type that arithmetic on it is done in.
kernel::ExprRef expr_value(kernel::Builder &build, const program::Expr &expr, int lanes,
                           kernel::ExprRef acc, const std::function<kernel::ExprRef(int)> &load);

// An accumulator with one more value.
kernel::ExprRef aggregate(kernel::Builder &build, program::Agg agg, kernel::ExprRef old,
                          kernel::ExprRef value);

} // namespace tilefuse::lower
