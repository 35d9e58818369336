// SPDX-License-Identifier: Apache-2.0
// Maps that read a product through a view that only merges its dimensions, as those of a grouped
// convolution do, are computed in the product's own dimensions, so that they can join its kernel:
//
//   %4 : f32[1, 2, 8, 5, 5] = sum[n, g, m, y, x, c, r, s](…)
//   %5 : f32[1, 16, 5, 5] = view(%4)
//   %7 : f32[1, 16, 5, 5] = map[%5, %6](max($0 + $1, 0))     with %6 : f32[16, 1, 1]
// becomes
//   %8 : f32[2, 8, 1, 1] = view(%6)
//   %9 : f32[1, 2, 8, 5, 5] = map[%4, %8](max($0 + $1, 0))
//   %7 : f32[1, 16, 5, 5] = view(%9)
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Views and products that something else reads stay.
Program defer_merges(const Program &program);

} // namespace tilefuse::program
