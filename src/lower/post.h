// SPDX-License-Identifier: Apache-2.0
// Scalar expressions of nests in kernels.
#pragma once

#include <functional>

#include "kernel/build.h"
#include "nest/nest.h"
#include "program/expr.h"
#include "program/program.h"

namespace tilefuse::lower {

// `expr` in `lanes` lanes. `acc` is the finished accumulator (null in a pure map), `load` gives an
// operand in the type that arithmetic on it is done in.
kernel::ExprRef expr_value(kernel::Builder &build, const program::Expr &expr, int lanes,
                           kernel::ExprRef acc, const std::function<kernel::ExprRef(int)> &load);

// What a pointwise map gives, rounded to the type that its tensor would have in memory.
kernel::ExprRef map_value(kernel::Builder &build, const nest::Nest &map, int lanes,
                          const std::function<kernel::ExprRef(int)> &load);

// `lanes` neighbours of an operand from an element on, `stride` apart (0: one for all), in the type
// that arithmetic on them is done in; `valid` of them exist, null: all.
kernel::ExprRef shared_run(kernel::Builder &build, kernel::BufferId from, kernel::ExprRef element,
                           int lanes, std::int64_t stride, kernel::ExprRef valid);

// An accumulator with one more value.
kernel::ExprRef aggregate(kernel::Builder &build, program::Agg agg, kernel::ExprRef old,
                          kernel::ExprRef value);

} // namespace tilefuse::lower
