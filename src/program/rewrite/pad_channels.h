// SPDX-License-Identifier: Apache-2.0
// Products over channels whose count leaves pixels off 4 bytes, which asynchronous copies to matrix
// units cannot read: data is stored once more, channels last and with zeros up to a multiple of 16
// bytes, and the constant filter to match. A conversion of the data is done by the same statement.
//
//   %2 : f16[8, 28, 28, 70] = sum[n, y, x, m, r, s, c](%0[n, y + r - 1, x + s - 1, c]
//        * %1[m, r, s, c]) -> [n, y, x, m]
// with 35 channels becomes
//   %3 : f16[8, 28, 28, 40] = assign[d0, d1, d2, d3](%0[d0, d1, d2, d3]) -> [d0, d1, d2, d3]
//   %2 : … = sum[n, y, x, m, r, s, c](%3[n, y + r - 1, x + s - 1, c] * %4[m, r, s, c]) -> …
#pragma once

#include "program/program.h"

namespace tilefuse::program {

struct PaddedChannels {
  Program program;
  int products = 0; // that were rewritten
};

// Of elements of 1 or 2 bytes, more than one channel, and more than a few products for each one
// that is stored again.
PaddedChannels pad_channels(const Program &program);

} // namespace tilefuse::program
