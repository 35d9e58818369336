// SPDX-License-Identifier: Apache-2.0
// Program simplifications that need evaluation. All keep the meaning exactly, up to rounding of
// folded constants (which are computed in double).
#pragma once

#include "program/program.h"

namespace tilefuse::nest {

// Makes the result of a statement whose operands are all constant a constant of its type; a view shares the data.
// False where an operand is not constant, or where a small constant would blow up into a huge one.
bool fold_statement(program::Program &program, const program::Statement &statement);

// Replaces statements whose operands are all constant by constants of their result's type; views
// share the data. Program outputs stay computed, and so do results that would blow a small constant
// up into a huge one.
program::Program fold_constants(program::Program program);

// contraction(sum of products with a constant K) followed by maps affine in its result, a * t + b
// with a, b constant per output channel: multiplies a into K and leaves t + b'. BatchNorm folds
// into weights this way, chains of such maps as one, and also through the view that joins the
// groups of a grouped convolution. What another statement reads unscaled stays.
program::Program fold_scales(program::Program program);

} // namespace tilefuse::nest
