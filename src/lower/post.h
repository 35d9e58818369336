// SPDX-License-Identifier: Apache-2.0
// Scalar expressions of nests in kernels.
#pragma once

#include <functional>

#include "kernel/build.h"
#include "lower/context.h"
#include "nest/nest.h"
#include "program/expr.h"
#include "program/program.h"

namespace tilefuse::lower {

// `expr` in `lanes` lanes. `acc` is the finished accumulator (null in a pure map), `load` gives an
// operand in the type that arithmetic on it is done in.
kernel::ExprRef expr_value(kernel::Builder &build, const program::Expr &expr, int lanes,
                           kernel::ExprRef acc, const std::function<kernel::ExprRef(int)> &load);

// The value of `post` at the current point; `acc` is the finished accumulator (null in a pure map).
// `valid` counts the lanes that exist, null: all.
kernel::ExprRef post_value(const Context &cx, const program::Expr &post, kernel::ExprRef acc,
                           kernel::ExprRef valid);

// An operand of post-ops at the current point, likewise, in the type that arithmetic on it is done
// in.
kernel::ExprRef extra_value(const Context &cx, const nest::Operand &operand, kernel::ExprRef valid);

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
