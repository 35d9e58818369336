// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the simulator on one lane.
#pragma once

#include <span>

#include "kernel/simulate_memory.h"

namespace tilefuse::kernel::simulation {

// The operation on arguments of one element type, rounded to it. Integers wrap at 64 bits. A Select takes its condition
// first and `elem` is that of its values. False in `defined` for an integer division by zero.
Cell apply(ScalarOp op, DType elem, std::span<const Cell> args, bool& defined);
Cell fma(DType elem, Cell a, Cell b, Cell c);
// As C converts; what does not fit saturates.
Cell convert(Cell value, DType from, DType to);
// A constant as a cell.
Cell cell_of(double value, DType elem);

}  // namespace tilefuse::kernel::simulation
