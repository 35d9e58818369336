// SPDX-License-Identifier: Apache-2.0
// The end of a tile of wgmma: post-ops on the accumulators and stores of neighbouring channels.
#pragma once

#include "lower/wgmma/result_boxes.h"
#include "lower/wgmma/wgmma_ahead.h"
#include "lower/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

// What four warps have computed: `acc` holds tiles of 64 rows as the core instruction leaves them.
struct WgmmaGroup {
  const WgmmaTiles &tiles; // of which one is taken apart
  BufferId acc{-1};
  ExprRef first_row{};          // pixel of the first result, or row of the box
  ExprRef first_column{};       // channel of the first result
  ResultBoxes *boxes = nullptr; // through which they leave
  WgmmaAhead *ahead = nullptr;  // operands of post-ops that have been fetched, and
  ExprRef tile_row{};           // the group's first row and column in the tile
  ExprRef tile_column{};
  std::int64_t halves = 2; // rows of each 16 that a work-item has: 8 apart, or one
};

// `tile`: that of the group's product, or the slice of it that the group stores.
StmtRef store_wgmma(Context &context, const schedule::CoreTile &tile, const WgmmaGroup &group);

} // namespace tilefuse::lower
