// SPDX-License-Identifier: Apache-2.0
// Convolutions in groups of few channels, whose rows matrix units take as long to copy as longer
// ones: several groups become one, whose constant filter has zeros between channels of different
// groups.
//
//   %2 : f16[8, 32, 4, 9] = sum[n, g, m, x, c, s](%0[n, g, c, x + s - 1] * %1[g, m, c, s])
//        -> [n, g, m, x]
// with 4 channels a group and rows of 64 bytes becomes, over the same elements of data and result,
//   %3 : f16[8, 4, 32, 11] = view(%0)
//   %5 : f16[8, 4, 32, 9] = sum[n, g, m, x, c, s](%3[n, g, c, x + s - 1] * %4[g, m, c, s])
//        -> [n, g, m, x]
//   %2 : f16[8, 32, 4, 9] = view(%5)
// The same where channels are numbers, %0[n, x + s - 1, 4*g + c], and no view is needed.
#pragma once

#include "program/program.h"

namespace tilefuse::program {

struct JoinedGroups {
  Program program;
  int products = 0; // that were rewritten
};

// Of elements of 1 or 2 bytes, more than one channel to a group, as many groups as fill rows of so
// many bytes at most.
JoinedGroups join_groups(const Program &program, std::int64_t row_bytes);

} // namespace tilefuse::program
