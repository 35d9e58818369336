// SPDX-License-Identifier: Apache-2.0
// A sum of sums that nothing else reads becomes one sum, for devices whose work-items take long
// sums in parts anyway: two kernels less, and no more rounding.
//
//   %2 = sum[n, c, y, x](%0[n, c, y, x]) -> [n, c]
//   %3 = sum[n, c](%2[n, c]) -> [c]
// becomes
//   %3 = sum[n, c, y, x](%0[n, c, y, x]) -> [c]
//
// The inner sum reads each element of some tensor once: a product of matrices or a convolution,
// which computes with an element many times, stays as it is.
//
// Ensures: tensors keep their numbers; values are the same but for the order of summation.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program merge_sums(const Program &program);

} // namespace tilefuse::program
