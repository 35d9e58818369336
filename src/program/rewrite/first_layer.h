// SPDX-License-Identifier: Apache-2.0
// Convolutions of at most eight channels, such as a network's first layer, for units that want long
// runs of memory: pixels are stored with four or eight channels side by side and their padding
// around them, so that the taps of a row are one run, which is summed over as one index. Where rows
// are passed over in steps, the rows of a step lie side by side too, and their taps are one run.
// Filters are stored to match, with zeros where there is no channel or tap. Of one to three spatial
// dimensions, whatever the order in which data, filter and result lie.
//
//   %2 : f16[1, 64, 112, 112] = sum[n, m, y, x, c, r, s](%0[n, c, 2*y + r - 3, 2*x + s - 3]
//        * %1[m, c, r, s]) -> [n, m, y, x]
// becomes
//   %4 : f16[1, 115, 232, 2, 4] = assign[d0, d1, d2, d3, row](%0[d0, d1, 2*d2 + row - 3, d3])
//        -> [d0, d2, d3 + 3, row, d1]
//   %5 : f16[1, 115, 1856] = view(%4)
//   %2 : … = sum[n, m, y, x, r, run](%5[n, y + r, 16*x + run] * %6[m, r, run]) -> [n, m, y, x]
//
// Their gradients, whose forms first_layer_gradient.h has, come to be other products, and more of
// them: where that pays is the caller's to say, and for more than four channels, which matrix units
// read as they lie, too.
#pragma once

#include <functional>

#include "program/program.h"

namespace tilefuse::program {

struct WidenedFirstLayers {
  Program program;
  int layers = 0; // that were rewritten, and gradients
};

// Whether a statement is to be computed in the other form: two programs of it alone.
using TakesForm = std::function<bool(const Program &plain, const Program &widened)>;

// Of convolutions of integers of 8 bits, of floats of 2 bytes or of f32 that may be rounded
// (Program::tf32), whose taps along the last spatial dimension of the data are neighbours, and
// their gradients; where `takes` agrees.
WidenedFirstLayers widen_first_layers(const Program &program, const TakesForm &takes);

} // namespace tilefuse::program
