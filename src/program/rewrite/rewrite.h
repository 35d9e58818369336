// SPDX-License-Identifier: Apache-2.0
// Algorithms that are another program for the same results: asked for by name, never chosen.
//
//   im2col        operands read through windows are copied out, one element per tap and pixel, and
//                 a plain matrix product follows; a result written through windows (an input
//                 gradient) is the sum of the windows of a product
//   winograd_f2   convolutions of 3x3 taps and stride 1 by Winograd's F(2x2, 3x3): filter, data
//   winograd_f4   and result transformed by small constant matrices, and F(4x4, 3x3); products in
//                 between. Rounds otherwise than a sum of products does, f4 more than f2
//
// A statement that was rewritten is several, each with "(NAME …)" in its origin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace tilefuse::program {

std::vector<std::string> rewrite_names();
bool is_rewrite(std::string_view name);

// The program with every statement that `name` fits rewritten. `refused` gets a line for each sum
// of products that it does not fit. Requires is_rewrite(name).
Program rewrite(const Program &program, std::string_view name,
                std::vector<std::string> *refused = nullptr);

// The name of the rewriting that made a statement of this origin, or nothing.
std::string_view rewritten_by(std::string_view origin);

} // namespace tilefuse::program
