// SPDX-License-Identifier: Apache-2.0
// Maps that read a computed tensor through views and permutations are computed in that tensor's own
// shape, so that they can join the kernel that computes it; what moves comes behind them:
//
//   %4 : f32[6304, 3072] = sum[m, n, k](…)
//   %5 : f32[32, 197, 3072] = view(%4)
//   %7 : f32[32, 197, 3072] = map[%5, %6](max($0 + $1, 0))     with %6 : f32[3072]
// becomes
//   %8 : f32[6304, 3072] = map[%4, %6](max($0 + $1, 0))
//   %7 : f32[32, 197, 3072] = view(%8)
//
// Views of views become one, and those that change nothing none.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Maps whose other operands would have to be copied stay.
Program defer_movement(Program program);

} // namespace tilefuse::program
