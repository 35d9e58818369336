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
ExprRef expr_value(kernel::Builder &build, const program::Expr &expr, int lanes, ExprRef acc,
                   const std::function<ExprRef(int)> &load);

// The value of `post` at the current point; `acc` is the finished accumulator (null in a pure map).
// `valid` counts the lanes that exist, null: all.
ExprRef post_value(const Context &cx, const program::Expr &post, ExprRef acc, ExprRef valid);

// An operand of post-ops at the current point, likewise, in the type that arithmetic on it is done
// in.
ExprRef extra_value(const Context &cx, const nest::Operand &operand, ExprRef valid);

// What a pointwise map gives, rounded to the type that its tensor would have in memory.
ExprRef map_value(kernel::Builder &build, const nest::Nest &map, int lanes,
                  const std::function<ExprRef(int)> &load);

// `lanes` neighbours of an operand from an element on, `stride` apart (0: one for all), in the type
// that arithmetic on them is done in; `valid` of them exist, null: all.
ExprRef shared_run(kernel::Builder &build, BufferId from, ExprRef element, int lanes,
                   std::int64_t stride, ExprRef valid);

// An accumulator with one more value.
ExprRef aggregate(kernel::Builder &build, program::Agg agg, ExprRef old, ExprRef value);

} // namespace tilefuse::lower
