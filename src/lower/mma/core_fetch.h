// SPDX-License-Identifier: Apache-2.0
// How a warp reads what copies left in local memory (schedule/mma/core.h): a stripe of 16 pixels or
// channels by 32 bytes of depth is one ldmatrix; where it lies turned in words of 4 bytes, loads of
// 2 neighbours for the data, of a word for the filter.
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

// How 32 rows or columns are dealt out where words are read (schedule/mma/core.h). Of the rows that
// work-items of 8 numbers have in the first fragment, which is the one numbered `eighth`'s first; and
// rows from there to one half of stripe number `stripe`.
ExprRef dealt_row(kernel::Builder &build, ExprRef eighth);
std::int64_t dealt_row(std::int64_t stripe, std::int64_t half);
// The same of the first of 2 columns that work-items of 4 numbers have, and 8-column tiles.
ExprRef dealt_column(kernel::Builder &build, ExprRef quarter);
std::int64_t dealt_column(std::int64_t tile);

} // namespace tilefuse::lower
