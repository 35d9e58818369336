// SPDX-License-Identifier: Apache-2.0
// Sums of products of 32-bit integers whose operands are known to fit fewer bits read them in the
// narrowest type that holds them, as instructions for narrow integers want them. Quantised models
// have such products: bytes less their zero point.
//
//   %2 : i32[8, 16] = map[%0](i32($0) - 7)                        %0 : u8[8, 16]
//   %3 : i32[8, 32] = sum[n, m, k](%2[n, k] * %1[m, k]) -> [n, m]   %1 : i32[32, 16], bytes
// becomes
//   %4 : i16[8, 16] = map[%0](i16(i32($0) - 7))
//   %3 : i32[8, 32] = sum[n, m, k](%4[n, k] * %5[m, k]) -> [n, m]   %5 : i8[32, 16]
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Ensures: every value is what it was.
Program narrow_integers(Program program);

} // namespace tilefuse::program
