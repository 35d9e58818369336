// SPDX-License-Identifier: Apache-2.0
// Convolutions of at most four channels, such as a network's first layer, for units that want long
// runs of memory: pixels are stored with four channels side by side and their padding around them,
// so that the taps of a row are one run, which is summed over as one index. Filters are stored to
// match, with zeros where there is no channel or tap.
//
//   %2 : f16[1, 64, 112, 112] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 3, 2*x + s - 3]
//        * %1[m, c, r, s]) -> [n, m, y, x]
// becomes
//   %4 : f16[1, 229, 232, 4] = assign[n, c, y, x](%0[n, c, y, x]) -> [n, y + 3, x + 3, c]
//   %5 : f16[1, 229, 928] = view(%4)
//   %2 : … = sum[n, m, y, x, r, k](%5[n, 2*y + r, 8*x + k] * %6[m, r, k]) -> [n, m, y, x]
#pragma once

#include "program/program.h"

namespace tilefuse::program {

struct WidenedFirstLayers {
  Program program;
  int layers = 0; // that were rewritten
};

// Of two-dimensional convolutions with constant filters whose elements have `bytes` bytes.
WidenedFirstLayers widen_first_layers(const Program &program, std::int64_t bytes);

} // namespace tilefuse::program
