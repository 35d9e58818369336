// SPDX-License-Identifier: Apache-2.0
// Inside of first_layer.h: the filter's gradient of convolutions of at most eight channels, as a
// sum of products that matrix units compute, and copies before and behind it. The data lies in rows
// of taps, and runs take the place of taps and channels.
//
//   %4 : f16[64, 4, 64] = sum[m, n, y, x, r, run](%2[n, y, x, m] * %3[n, y + r, 16*x + run])
//        -> [m, r, run]
#pragma once

#include <vector>

#include "program/precision/casts.h"
#include "program/program.h"

namespace tilefuse::program {

// Appends what computes the statement's result in the other form, and says whether it did: 2-byte
// floats only.
bool sum_over_runs(Program &program, std::vector<Statement> &statements, const Statement &statement,
                   const Casts &casts);

} // namespace tilefuse::program
