// SPDX-License-Identifier: Apache-2.0
// Pointwise maps are evaluated where they are read, wherever that moves fewer bytes: a map joins the
// expression of a map of its shape that reads it, or the term of a sum that reads each of its
// elements once.
//
//   %5 = map[%1, %2]($0 - $1)
//   %6 = sum[n, c, y, x](%5[n, c, y, x] * %5[n, c, y, x]) -> [c]
// becomes
//   %6 = sum[n, c, y, x](($0 - $1)*($0 - $1) of %1[n, c, y, x], %2[c]) -> [c]
//
// A map with one reader disappears. One with several does where all of them together read less
// without it, and what it computes is cheap; else it joins those readers that read all of its
// operands anyway. Small maps join all that can take them: none then waits for another. A map that
// joins the contraction before it as a post-op costs no bytes of its own, and stays there, but for a
// small one behind a sum of one tensor, which will be one with other sums (join_sums.h).
//
// Ensures: tensors keep their numbers; values are the same, but that a reader sees what a map gives
// before it is rounded to the type that it would be stored in (terms.h, read_as).
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program compose_maps(const Program &program);

} // namespace tilefuse::program
