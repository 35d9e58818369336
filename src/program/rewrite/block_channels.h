// SPDX-License-Identifier: Apache-2.0
// Channels in blocks: a tensor T[n, c, y, x] around convolutions becomes T'[n, c / b, y, x, c % b],
// b innermost, wherever its channels are whole blocks, and the statements compute on that:
//
//   %2[n, m, y, x] = sum(%0[n, c, y + r - 1, x] * %1[m, c, r])
//   %5[n, m, y, x, m_b] = sum(%4[n, c, y + r - 1, x, c_b] * %1[b*m + m_b, b*c + c_b, r])
//
// Inputs, outputs and constants stay as they are. A statement that walks channels in another way (a
// window of them, a view that joins them with pixels) uses T itself; then T is copied into T' or
// back, with origin "layout", once. Pixels of one row and column need no copy.
#pragma once

#include <cstdint>

#include "program/program.h"

namespace tilefuse::program {

// Requires a verified program and block > 1. The same values to the last bit.
Program block_channels(const Program &program, std::int64_t block);

} // namespace tilefuse::program
