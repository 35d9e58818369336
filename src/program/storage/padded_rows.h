// SPDX-License-Identifier: Apache-2.0
// Rows that begin at whole vectors: row-major strides with a gap behind each row, so that vectors of
// work-items and tensor copies reach them. What lies in a gap is never read as a value.
//
//   window %2 = 1 + 0 [472800, 39400, 200, 1]      of f16[32, 12, 197, 197]
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Row-major strides with rows, the last dimension, at multiples of 16 bytes; row-major where they
// are so or would grow by more than an eighth.
Shape padded_rows(const Shape &shape, DType type);

} // namespace tilefuse::program
