// SPDX-License-Identifier: Apache-2.0
// Panels of a tile in local memory that tensor copies fill or take (schedule/wgmma/wgmma_panels.h).
//
// Results that leave by tensor stores: a warp fills one of its buffers with rows of a panel while the
// copies of those before may still run.
//
// Operands of post-ops that tensor copies bring while their tile is multiplied: a warp of the
// producer's group does nothing else, so that neither these copies nor those of the ring wait for each
// other; where all its warps load, a work-item starts them among its loads:
//
//   await earlier kernels
//   for tile { wait empty[buffer]; expect full[slot]; copy panels; slot, buffer = next }
//   … { for own tile { multiply; wait full[own]; store what post-ops make of it; arrive empty } }
//
// A slot is a buffer; with one buffer for two turns each still has a phase of its own to wait for.
#pragma once

#include <vector>

#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_panels.h"

namespace tilefuse::lower {

class ResultBoxes : GemmPart {
public:
  explicit ResultBoxes(Context &context);

  std::int64_t columns() const { return panel_.columns; } // of a panel
  // Appends the names that the others need, at the start of a tile.
  void place_warp(Stmts &list);
  // Until this warp may fill its next box.
  StmtRef open();
  // Neighbouring results into a row of box number `box` of the tile, from column `apart` + `along`
  // on; the one is a multiple of 16 bytes or the other lies in the first of them.
  StmtRef put(std::int64_t box, ExprRef row, std::int64_t apart, ExprRef along, ExprRef results);
  // Sends the box off to column `column` of points from `row` on.
  StmtRef send(std::int64_t box, ExprRef row, ExprRef column);
  // Behind the last tile: until no copy reads local memory.
  StmtRef end();

private:
  ExprRef first_of(std::int64_t box);

  const schedule::StorePanel panel_;
  const schedule::TileMap lies_;
  kernel::MapId map_{};
  BufferId buffer_{-1};
  ExprRef first_{}; // of this warp's boxes
};

class WgmmaAhead : GemmPart {
public:
  explicit WgmmaAhead(Context &context);

  // By one work-item, before a barrier of the block.
  StmtRef init() const;
  // The copies of all the block's tiles, by one work-item of a warp.
  StmtRef produce(WgmmaTiles &tiles) const;
  // The same one by one, where the warp has other work between them: those of the tile last taken
  // apart.
  StmtRef copy_tile(const WgmmaTiles &tiles) const;

  // These work-items stand at tile number `number` of those that the block takes.
  StmtRef start(ExprRef number) const { return b_.store(place_, 0, number); }
  // Until the tile's operands have come; and behind all reads of a warp.
  StmtRef wait() const;
  StmtRef let_go() const;
  // Where this work-item reads: a row of the tile, the first column of its group's part, and its
  // own first column in a panel.
  void place(ExprRef row, ExprRef column, ExprRef along, Stmts &list);
  // Neighbours of operand number `extra` so many rows and columns further; null where it has not
  // been fetched. The columns are whole panels, or the place in them is the work-item's own.
  ExprRef load(int extra, std::int64_t rows, std::int64_t columns, int lanes) const;

private:
  struct Source {
    schedule::AheadOperand operand;
    kernel::MapId map{};
    BufferId buffer{-1};
  };
  std::int64_t tile_elems() const { return tile_.rows * tile_.columns; }
  ExprRef buffer_of(ExprRef slot) const;
  kernel::LocalRef full(ExprRef slot) const { return {barriers_, slot}; }
  kernel::LocalRef empty(ExprRef slot) const;
  ExprRef passed() const { return b_.load(place_, 0); } // tiles
  ExprRef slot() const { return b_.mod(passed(), slots_); }
  ExprRef phase(std::int64_t places) const;
  void copy(const Source &source, const WgmmaTiles &tiles, ExprRef slot, Stmts &list) const;

  const std::int64_t turns_;
  const std::int64_t buffers_;
  const std::int64_t
      slots_; // buffers, or turns where one serves all; tile after tile takes the next
  std::vector<Source> sources_;
  BufferId barriers_{-1}, place_{-1};
  ExprRef row_{}, along_{}, first_{}; // of this work-item: in the tile, and its first element
};

} // namespace tilefuse::lower
