// SPDX-License-Identifier: Apache-2.0
// Quantised models (QuantizeLinear, DequantizeLinear, QLinearConv …) as integer arithmetic: what is
// dequantised stays integers as long as it is moved, added, limited, or multiplied by constants, sums
// of products are those of integers, and what follows one up to the next rounding is one map, which
// joins its kernel.
//
//   %4 : f32[1, 8, 9] = map[%0](f32(i32($0) - 7) * 0.5)               %0 : u8
//   %5 : f32[4, 8] = map[%1, %2](f32(i32($0) - 0) * $1)               %1 : i8, %2 a scale per row
//   %6 : f32[1, 4, 9] = sum[n, m, x, c](%4[n, c, x] * %5[m, c]) -> [n, m, x]
//   %7 : f32[1, 4, 9] = map[%6, %3]($0 + $1)                          %3 : a bias
//   %8 : u8[1, 4, 9] = map[%7](u8(max(min(round(max($0, 0) / 0.25) + 0, 255), 0)))
// becomes
//   %9 : i32[1, 4, 9] = sum[n, m, x, c](%0[n, c, x] * %1[m, c]) -> [n, m, x]
//   %8 : u8[1, 4, 9] = map[%9, %10, %11](u8(round(f32($0 + $1) * $2)))
//
// with the bias and what the zero point adds in %10, in units of the sums. Where borders are sums of
// fewer products, data is stored once more with its zero point around it; where that does not help,
// data less its zero point is read as 16-bit integers. Integers of 8 bits
// whose zero point is negative are stored without sign.
//
// Values are those of the model up to the rounding of f32: what lies within that of a tie may be
// rounded to the other neighbour. Ties go to even.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Where `program` has no tensors of 8-bit integers, or nothing that dequantises them, it stays.
Program integer_products(Program program);

} // namespace tilefuse::program
