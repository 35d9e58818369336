// SPDX-License-Identifier: Apache-2.0
// Sums over what goes to the winners of a maximum add up where it comes from: what stands beside it in
// a sum is read at the winners alone. A map that then alone reads what is given stands behind it
// (poly/post_ops.h), so that nobody stores it.
//
//   %4 "given" = sum[w, t](%2[w] == %1[t] ? %3[w]) -> [2*w + t]
//   %6 = sum[p](%4[p] * %5[p]) -> []
//   %7 = map[%4, %6](…)
// becomes
//   %8 = sum[w, t](%2[w] == %1[t] ? %5[2*w + t]) -> [w]
//   %6 = sum[w](%3[w] * %8[w]) -> []
//
// Where there are fewer results than elements.
//
// Ensures: every value is what it was, up to the order of additions, where maxima are numbers.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program sum_winners(const Program &program);

} // namespace tilefuse::program
