// SPDX-License-Identifier: Apache-2.0
// Filters that are inputs, as trained ones are, lie as a caller gives them, and matrix units read
// 32-bit operands along the index that is summed, or across it where their own index is contiguous
// (schedule/mma/core_roles.h). Products that gain by it read a copy in another order, with what
// they sum over innermost; all that want the same order read the same copy. Where a filter is rounded
// to a narrower type the copy is, so that it takes the place of the rounded one.
//
//   %2 = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %1[m, c, r, s]) -> [n, m, y, x]
// becomes
//   %9 : f32[64, 3, 3, 32] = assign[d0, d1, d2, d3](%1[d0, d1, d2, d3]) -> [d0, d2, d3, d1]
//   %2 = sum[n, m, y, x, c, r, s](%0[n, c, y + r - 1, x + s - 1] * %9[m, r, s, c]) -> [n, m, y, x]
#pragma once

#include "program/rewrite/price.h"

namespace tilefuse::program {

// Of products of a tensor that is computed and an input that each of its dimensions reads by one
// index, of a narrower type or where they may be rounded (Program::tf32). `price` is asked for
// programs of a product alone, whose activations lie with channels innermost.
Program store_filters(const Program &program, const Price &price);

} // namespace tilefuse::program
