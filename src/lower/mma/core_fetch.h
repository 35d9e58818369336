// SPDX-License-Identifier: Apache-2.0
// How a warp reads what copies left in local memory (schedule/mma/core.h): a stripe of 16 pixels or
// channels by 32 bytes of depth is one ldmatrix.
#pragma once

#include "lower/context.h"
#include "lower/mma/core_copies.h"
#include "schedule/mma/core.h"

namespace tilefuse::lower {

// Where ldmatrix of a work-item finds a stripe: its row's first element, and the chunk exchanged.
struct CorePlace {
  kernel::ExprRef row{};
  kernel::ExprRef swizzled{};
};

// Of a side's stripes from pixel or channel `first` of the tile on, for a work-item of a warp; the
// values are named in `list`.
CorePlace core_place(kernel::Builder &build, std::vector<kernel::StmtRef> &list,
                     const CoreSide &side, kernel::ExprRef item, kernel::ExprRef first);

// A stripe, at a step of 32 bytes of the depth, of the buffer that `buffer` elements stand before.
struct CoreStripe {
  std::int64_t stripe = 0;
  std::int64_t step = 0;
  kernel::ExprRef buffer{};
};
// Loads it to values of a register buffer, from value number `to.index` times those of a stripe on.
kernel::StmtRef core_fetch(kernel::Builder &build, const CoreSide &side, const CorePlace &from,
                           const CoreStripe &at, kernel::BufferId to, std::int64_t to_stripe);

} // namespace tilefuse::lower
