// SPDX-License-Identifier: Apache-2.0
// Inside of first_layer.h: gradients of convolutions of at most eight channels, as sums of products
// that matrix units compute, and copies before and behind them.
//
// The filter's: the data lies in rows of taps, and runs take the place of taps and channels.
//
//   %4 : f16[64, 4, 64] = sum[m, n, y, x, r, run](%2[n, y, x, m] * %3[n, y + r, 16*x + run])
//        -> [m, r, run]
//
// The input's: a block of pixels, of as many as the stride or a few times as many along each
// dimension, is computed from one window of the result's gradient, its pixels and their channels
// being the columns of a product. The filter is stored once more: a filter for each pixel of a
// block, with zeros where the pixel has no tap in the window. Blocks lie as the image of all does.
//
//   %4 : f16[256, 56, 4, 28, 24] = sum[n, q0, q1, a0, k, u0, u1, m](%2[n, 2*q0 + u0 - 1, 4*q1 + u1
//   -
//        1, m] * %3[a0, k, u0, u1, m]) -> [n, q0, a0, q1, k]
//   %5 : f16[256, 224, 224, 3] = view(%4)
#pragma once

#include <vector>

#include "program/precision/casts.h"
#include "program/program.h"

namespace tilefuse::program {

// Each appends what computes the statement's result in the other form, and says whether it did:
// 2-byte floats only.
bool sum_over_runs(Program &program, std::vector<Statement> &statements, const Statement &statement,
                   const Casts &casts);
bool sum_over_blocks(Program &program, std::vector<Statement> &statements,
                     const Statement &statement);

} // namespace tilefuse::program
