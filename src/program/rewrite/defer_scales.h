// SPDX-License-Identifier: Apache-2.0
// What every element of a product's operand is multiplied or divided by, one number, the product is
// multiplied or divided by: the operand then is read as it lies, and the product's kernel applies the
// number.
//
//   %3 = map[%1, %2]($0 * $1)                 with %2 : f32[]
//   %4 = sum[m, n, k](%3[m, k] * %0[k, n]) -> [m, n]
// becomes
//   %5 = sum[m, n, k](%1[m, k] * %0[k, n]) -> [m, n]
//   %4 = map[%5, %2]($0 * $1)
//
// Of floats, where nothing else reads the operand, and not of sums: the kernel of a mean divides it
// for nothing, while weights divided by thousands lose bits in half precision.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

Program defer_scales(Program program);

} // namespace tilefuse::program
