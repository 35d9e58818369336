// SPDX-License-Identifier: Apache-2.0
// Maps read what is repeated along a dimension where it lies: a map that only repeats its operand,
// and a view of it that only adds or drops dimensions of one element, are the operand itself under
// a shape that repeats by the rule of maps.
//
//   %2 : f32[128, 256] = map[%1]($0)             %1 : f32[1, 256]
//   %3 : f32[128, 256, 1, 1] = view(%2)
//   %5 : f16[128, 256, 14, 14] = map[%4, %3]($0 * $1)
// becomes
//   %6 : f32[1, 256, 1, 1] = view(%1)
//   %5 : f16[128, 256, 14, 14] = map[%4, %6]($0 * $1)
//
// Ensures: every value is what it was.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program.
Program read_broadcast(const Program &program);

} // namespace tilefuse::program
