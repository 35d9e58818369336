// SPDX-License-Identifier: Apache-2.0
// Sums of rows by one fixed tree: of four parts ((0 + 1) + (2 + 3)). Since the tree is over the
// parts' numbers, the sum of all has the same bits wherever parts of it were added before.
#pragma once

#include <cstdint>

#include "program/program.h"

namespace tilefuse::train {

// Inputs: `parts` times [rows, kRow] of a type, a power of two of them. Output: their sum in f32 times
// `factor`.
program::Program sum_program(std::int64_t rows, int parts, double factor, DType type = DType::F32);

// Input: f32[rows, kRow]. Output: the same as bf16.
program::Program narrowing_program(std::int64_t rows);

} // namespace tilefuse::train
