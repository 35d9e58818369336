// SPDX-License-Identifier: Apache-2.0
// Sums of what a tile of wgmma has stored (schedule/wgmma/tile_sums.h), from its accumulators and
// from tiles that were fetched ahead: each work-item adds up its rows of some channels, lanes that
// hold the same channels exchange halves of what they have, and a tile's warps meet in local memory.
//
//   folded[0] = folded[0] + term …                 a row of a channel
//   given[0] = select(lane & 16, folded[0], folded[4]); shuffle given[0] xor 16 …
//   sums0[…] = folded[0]
//   barrier 1 items 128
//   parts[tile, k, m] = sums0[…] + sums0[…] + …    warps in order
//   barrier 1 items 128
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lower/mma/tile_store.h"

namespace tilefuse::lower {

// All sums of the group, of the tile that was last taken apart. Changes no index's position.
class TileSums {
public:
  TileSums(Context &context, const TileEnd &end);
  ~TileSums();

  // Of the columns of a piece of the tile (TileEnd::sums), in their order.
  StmtRef add(std::int64_t piece);
  // Of the tile's warps, behind all pieces.
  StmtRef join();

private:
  class Sum;
  Context &context_;
  const TileEnd &end_;
  std::vector<std::unique_ptr<Sum>> sums_;
};

} // namespace tilefuse::lower
