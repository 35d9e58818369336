// SPDX-License-Identifier: Apache-2.0
// The end of a tile of matrix instructions (schedule/mma/core.h): post-ops on
// the accumulators and stores of neighbouring channels.
//
//   accumulators → [exchange in local memory] → post-ops, operands from memory or fetched
//                → memory, or boxes of local memory that tensor stores take
//
// A warp holds 16 rows at a time: work-item (g, t) pairs of columns 8j + 2t of rows g and g + 8.
// Where columns or rows were dealt such pairs are runs of neighbouring channels. Where they cannot be,
// the warp writes the 16 rows of a panel of columns to a part of local memory of its own, and each
// work-item takes runs from there.
#pragma once

#include <functional>

#include "lower/context.h"
#include "lower/wgmma/wgmma_panels.h"
#include "lower/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

// What a warp of mma or four of wgmma have computed.
struct TileEnd {
  schedule::CoreTile tile{}; // the product's, or the slice of it that these store
  BufferId acc{-1};          // as the instruction leaves results, row by row of its tiles
  ExprRef warp{};            // number of this warp among those that store
  ExprRef first_row{};       // pixel of the first result, or row of the box
  ExprRef first_column{};    // channel of the first result
  // With wgmma: tiles, of which one is taken apart; what results leave through, and the operands of
  // post-ops that have been fetched, if any; the group's number, where several take tiles in turn,
  // and first row and column in the tile; rows of each 16 that a work-item has: 8 apart, or one.
  const WgmmaTiles *tiles = nullptr;
  ResultBoxes *boxes = nullptr;
  WgmmaAhead *ahead = nullptr;
  ExprRef turn{}, tile_row{}, tile_column{};
  std::int64_t halves = 2;
  // Whether accumulators then hold what has been stored, for those who add it up; not where warps
  // exchange results.
  bool keeps = false;
  // Behind the stores of each piece of the tile, of `pieces`: its columns, of each group's, while
  // the operands fetched for it are there.
  std::function<StmtRef(std::int64_t piece)> sums = nullptr;
  std::int64_t pieces() const { return ahead == nullptr ? 1 : ahead->pieces(); }
};

StmtRef store_tile(Context &context, const TileEnd &end);

} // namespace tilefuse::lower
