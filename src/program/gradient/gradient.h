// SPDX-License-Identifier: Apache-2.0
// Differentiation of programs, in reverse mode: from a program and gradients of its outputs to the
// gradients of what it reads. Every gradient is derived from what a statement means; no operator
// has a rule of its own.
//
//   %3 "T" = sum[n, m, y, r](%0[n, 2*y + r] * %1[m, r]) -> [n, m, y]
//
// has the gradients
//
//   %5 "grad x" = sum[n, m, y, r](%4[n, m, y] * %1[m, r]) -> [n, 2*y + r]
//   %6 "grad w" = sum[n, m, y, r](%4[n, m, y] * %0[n, 2*y + r]) -> [m, r]
//
// where %4 is the gradient of T: the same points, the roles exchanged. The rules:
//
// - sum, assign: as above. An operand that drops out (of a sum, or of a comparison) still restricts
//   the points: by constraints, or, where its subscripts can be fractions, by a tensor of ones read
//   with these subscripts.
// - max, min: exactly one element per result gets the gradient: among equal ones the first in
//   row-major order of the operand, with several operands of the first, then of the second, …
//   A result without any point has no winner.
// - product: exact also where factors are 0.
// - init: gets the gradient of the elements that the statement does not write.
// - maps: derivative.h; broadcast operands get the sum. Views: the reverse view.
//
// Gradients have the type of their tensor; sums of them are made in its accumulator type.
#pragma once

#include <vector>

#include "program/program.h"

namespace tilefuse::program {

struct GradientRequest {
  std::vector<TensorId> outputs; // differentiated; none: every floating output of the program
  std::vector<TensorId> by;      // inputs and constants
  bool keep_outputs = false;     // return the program's outputs, too
};

// Inputs: those of `program`, then the gradient "grad NAME" (or, where an input has that name,
// "grad NAME 2", …) of each differentiated output, of its shape and type. Outputs: the gradient by
// each tensor of `by`, zero where no output depends on it, then the program's outputs if they are
// kept. Statements that no output needs are dropped. The program must be verified. Throws
// Error{Type|Shape} for a tensor that is not floating or not there.
Program gradient(const Program &program, const GradientRequest &request);

} // namespace tilefuse::program
