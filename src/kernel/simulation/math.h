// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the simulator on rows of cells.
#pragma once

#include <cstddef>

#include "kernel/simulation/program.h"

namespace tilefuse::kernel::simulation {

// A constant as a cell.
Cell cell_of(double value, DType elem);

// to[i] = op(a[i], b[i]) on elements of one type, rounded to it; b is not read by unary operations.
// Whole numbers wrap: narrow ones at their size, i32 when `wraps_i32`, else at 64 bits. A division by
// zero gives 0. `to` may be an operand.
struct Rows {
  const Cell *a = nullptr;
  const Cell *b = nullptr;
  Cell *to = nullptr;
  std::size_t count = 0;
};
void apply(ScalarOp op, DType elem, bool wraps_i32, const Rows &rows);

// a * b + c with one rounding.
void fma(DType elem, const Rows &rows, const Cell *c);

// c plus `products` neighbouring rows of `width` cells of a times those of b, wrapped.
struct Neighbours {
  std::size_t products = 1;
  std::size_t width = 1;
};
void dot(DType elem, const Neighbours &each, const Rows &rows, const Cell *c);

// As kernel/simulate.h says.
void convert(DType from, DType to, const Cell *value, Cell *result, std::size_t count);

} // namespace tilefuse::kernel::simulation
