// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_fetch.h"

#include <string>

#include "kernel/rules.h"
#include "lower/expressions.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;
using schedule::kCoreRows;
using schedule::kStepBytes;

// The four 8 x 16-byte tiles of a stripe go down 16 pixels and then along the depth for the data,
// the other way for the filter. In straight rows the depth is found by the chunk, in turned ones by
// the row.
CorePlace core_place(kernel::Builder &b, std::vector<StmtRef> &list, const CoreSide &side,
                     ExprRef item, ExprRef first) {
  const ExprRef eighth = b.mod(item, b.integer(8));
  const ExprRef low = b.mod(b.div(item, b.integer(8)), b.integer(2));
  const ExprRef high = b.div(item, b.integer(16));
  const ExprRef own = side.is_data() ? low : high; // 8 pixels or channels further
  const ExprRef deep = side.is_data() ? high : low;
  const schedule::Swizzle swizzle = side.swizzle();
  ExprRef row = b.add(eighth, b.mul(side.is_turned() ? deep : own, b.integer(8)));
  ExprRef chunk = deep;
  if (side.is_turned())
    chunk = b.add(b.div(first, b.integer(side.chunk())), own);
  else
    row = b.add(first, row);
  const std::string name = side.is_data() ? "data" : "filter";
  return {named(b, list, name + "_row", b.mul(row, b.integer(side.side().elems))),
          named(b, list, name + "_chunk", swizzled(b, swizzle, chunk, eighth))};
}

StmtRef core_fetch(kernel::Builder &b, const CoreSide &side, const CorePlace &from,
                   const CoreStripe &at, kernel::BufferId to, std::int64_t to_stripe) {
  const std::int64_t step_points = 2 * side.chunk();
  const std::int64_t rows = side.is_turned() ? at.step * step_points : at.stripe * kCoreRows;
  const ExprRef chunk = b.scalar(
      ScalarOp::BitXor, {b.integer(2 * (side.is_turned() ? at.stripe : at.step)), from.swizzled});
  const ExprRef at_row = b.add(from.row, b.integer(rows * side.side().elems));
  kernel::LoadMatrix load{
      .to = {to, b.integer(0)},
      .from = side.ring(),
      .index = b.add(b.add(at.buffer, b.mul(chunk, b.integer(side.chunk()))), at_row),
      .matrices = 4,
      .transposed = side.is_turned()};
  load.to.index = b.integer(to_stripe * load_matrix_values(b.kernel(), load));
  return b.load_matrix(load);
}

} // namespace tilefuse::lower
