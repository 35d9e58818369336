// SPDX-License-Identifier: Apache-2.0
// Expressions and statements that several builders of kernels write: numbers taken apart, tests,
// chunks exchanged so that accesses meet in no bank.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/build.h"
#include "lower/context.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::lower {

// What the indices alone make of it.
inline nest::Linear without_constant(nest::Linear linear) {
  linear.constant = 0;
  return linear;
}

// Digits of a number, by place: the last is the fastest, the first what is left. A digit has
// `sizes` values.
std::vector<ExprRef> digits_of(kernel::Builder &build, ExprRef number,
                               const std::vector<std::int64_t> &sizes);
// Points of each index: the digits' sizes where a number runs over all of them.
std::vector<std::int64_t> extents(const nest::Nest &nest, const std::vector<IndexId> &indices);
// Sets the positions of `indices` to their points at `number`, named by `prefix` and the index.
void place_digits(const Context &cx, const std::vector<IndexId> &indices, ExprRef number,
                  const std::string &prefix, Positions &positions, Stmts &list);

// Whether `all` holds, null: it does, and 0 <= value < size.
ExprRef also_inside(kernel::Builder &build, ExprRef all, ExprRef value, std::int64_t size);
// `count` where it exists, else 0; null, which is all of them, where it always does.
ExprRef count_if(kernel::Builder &build, ExprRef exists, std::int64_t count);
// The place in its row at which a chunk of 16 bytes lies in row `row` of local memory.
ExprRef swizzled(kernel::Builder &build, const schedule::Swizzle &swizzle, ExprRef chunk,
                 ExprRef row);
// The element of a row of so many at which a run lies, `apart` + `along` elements from its first, that
// tensor copies leave swizzled; the one is a multiple of 16 bytes or the other lies in the first.
ExprRef run_in_row(kernel::Builder &build, std::int64_t elem_bytes, std::int64_t elems, ExprRef row,
                   std::int64_t apart, ExprRef along);

// Declares the map by which tensor copies address a tensor: boxes whose rows of `row_bytes` are
// exchanged as instructions read them.
kernel::MapId declare_map(const Context &cx, const TensorMap &map, std::string name,
                          BufferId tensor, std::int64_t row_bytes);

// Takes the fastest digit, of `count` values, off a number.
ExprRef take_digit(kernel::Builder &build, ExprRef &number, std::int64_t count);

// This work-item's number in its warp; what one of the block, or the first of a warp, does alone.
ExprRef item_of_warp(kernel::Builder &build);
StmtRef by_item(kernel::Builder &build, std::int64_t item, StmtRef body);
StmtRef by_first_item(kernel::Builder &build, StmtRef body);

} // namespace tilefuse::lower
