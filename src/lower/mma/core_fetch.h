// SPDX-License-Identifier: Apache-2.0
// How a warp reads what copies left in local memory (schedule/mma/core.h): a stripe of 16 pixels or
// channels by 32 bytes of depth is one ldmatrix; two that lie turned in words of 4 bytes are two
// loads of 4 neighbours.
#pragma once

#include <array>

#include "lower/context.h"
#include "lower/mma/core_copies.h"
#include "schedule/mma/core.h"

namespace tilefuse::lower {

// Where ldmatrix of a work-item finds a stripe: its row's first element, and the chunk exchanged.
// Where words are read, the elements of both halves of the depth instead, and what is on its way.
struct CorePlace {
  ExprRef row{};
  ExprRef swizzled{};
  std::array<ExprRef, 2> words{};
  BufferId loaded{-1};
};

// Of a side's stripes from pixel or channel `first` of the tile on, for a work-item of a warp; the
// values are named in `list`.
CorePlace core_place(kernel::Builder &build, Stmts &list, const CoreSide &side, ExprRef item,
                     ExprRef first);

// A stripe, at a step of 32 bytes of the depth, of the buffer that `buffer` elements stand before.
struct CoreStripe {
  std::int64_t stripe = 0;
  std::int64_t step = 0;
  ExprRef buffer{};
};
// Loads it to values of a register buffer, from value number `to.index` times those of a stripe on.
StmtRef core_fetch(kernel::Builder &build, const CoreSide &side, const CorePlace &from,
                   const CoreStripe &at, BufferId to, std::int64_t to_stripe);

// Registers of a side's fragments that hold so many values: vectors, or where words are read
// elements. What `core_fetch_all` fills and `mma` reads from value `number` of the fragments on.
BufferId core_fragments(kernel::Builder &build, const CoreSide &side, const Fragment &fragment,
                        std::int64_t count);
ExprRef core_fragment(kernel::Builder &build, const CoreSide &side, const Fragment &fragment,
                      std::int64_t number);
// All of a warp's first `stripes` stripes, at a step of the depth.
StmtRef core_fetch_all(kernel::Builder &build, const CoreSide &side, const CorePlace &from,
                       const CoreStripe &at, BufferId to, std::int64_t stripes);

// Of 8 work-items across, which 4 neighbours of 32 the one numbered `eighth` has.
ExprRef dealt_run(kernel::Builder &build, ExprRef eighth);

} // namespace tilefuse::lower
