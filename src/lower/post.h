// SPDX-License-Identifier: Apache-2.0
// Scalar expressions of nests in kernels.
#pragma once

#include <functional>

#include "kernel/build.h"
#include "program/expr.h"

namespace tilefuse::lower {

// `expr` in `lanes` lanes. `acc` is the finished accumulator (null in a pure map), `load` gives an
// operand in the type that arithmetic on it is done in.
kernel::ExprRef expr_value(kernel::Builder &build, const program::Expr &expr, int lanes,
                           kernel::ExprRef acc, const std::function<kernel::ExprRef(int)> &load);

} // namespace tilefuse::lower
