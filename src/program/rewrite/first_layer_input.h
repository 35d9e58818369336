// SPDX-License-Identifier: Apache-2.0
// Inside of first_layer.h: the input's gradient of convolutions of at most eight channels, as a sum
// of products that matrix units compute, and copies before and behind it. A block of pixels, of as
// many as the stride or a few times as many along each dimension, is computed from one window of
// the result's gradient, its pixels and their channels being the columns of a product. The filter
// is stored once more: a filter for each pixel of a block, with zeros where the pixel has no tap in
// the window. Blocks lie as the image of all does.
//
//   %4 : f16[256, 56, 4, 28, 24] = sum[n, q0, q1, a0, k, u0, u1, m](
//        %2[n, 2*q0 + u0 - 1, 4*q1 + u1 - 1, m] * %3[a0, k, u0, u1, m]) -> [n, q0, a0, q1, k]
//   %5 : f16[256, 224, 224, 3] = view(%4)
#pragma once

#include <vector>

#include "program/program.h"

namespace tilefuse::program {

// Appends what computes the statement's result in the other form, and says whether it did: 2-byte
// floats only.
bool sum_over_blocks(Program &program, std::vector<Statement> &statements,
                     const Statement &statement);

} // namespace tilefuse::program
