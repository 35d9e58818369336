// SPDX-License-Identifier: Apache-2.0
// Panels of a tile in local memory that tensor copies fill or take (schedule/wgmma/wgmma_panels.h).
//
// Results that leave by tensor stores: a warp fills one of its buffers with rows of a panel while the
// copies of those before may still run.
//
// Operands of post-ops that tensor copies bring by epilogue tiles while their tile is multiplied: a
// warp of the producer's group does nothing else, so that neither these copies nor those of the
// ring wait for each other; where all its warps load, a work-item starts them among its loads:
//
//   await earlier kernels
//   for tile { for piece { wait empty[…]; expect full[…]; copy panels } }
//   … { for own tile { multiply; for piece { wait full[…]; post-ops, stores; arrive empty[…] } } }
//
// Pieces are numbered through all tiles of the block: number n lies in buffer n modulo the buffers,
// and mbarrier n modulo theirs says that it has come.
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

  std::int64_t pieces() const { return ring_.pieces; } // of a tile
  // These work-items stand at tile number `number` of those that the block takes.
  StmtRef start(ExprRef number) const { return b_.store(place_, 0, number); }
  // Until the tile's first piece has come; behind all reads of one by a warp, until the next has;
  // and behind those of the last.
  StmtRef wait() const { return wait(0); }
  StmtRef next(std::int64_t piece) const;
  StmtRef pass() const; // over all but the last
  StmtRef end() const;
  // Where this work-item reads: a row of the tile, the first column of its group's part, and its
  // own first column in a panel.
  void place(ExprRef row, ExprRef column, ExprRef along, Stmts &list);
  // Reads are of a piece.
  void open(std::int64_t piece, Stmts &list);
  // Neighbours of operand number `extra` so many rows and columns further; null where it has not
  // been fetched. The columns are whole panels, or the place in them is the work-item's own.
  ExprRef load(int extra, std::int64_t rows, std::int64_t columns, int lanes) const;

private:
  struct Source {
    schedule::AheadOperand operand;
    kernel::MapId map{};
    BufferId buffer{-1};
  };
  ExprRef passed() const { return b_.load(place_, 0); } // tiles
  // Of a piece of the tile, numbered through all: its number modulo `count`; and, modulo 2, how
  // often all of so many have been taken before.
  ExprRef place_of(std::int64_t piece, std::int64_t count) const;
  ExprRef phase_of(std::int64_t piece, std::int64_t count) const;
  ExprRef buffer_of(std::int64_t piece) const { return place_of(piece, ring_.stages); }
  kernel::LocalRef full(std::int64_t piece) const {
    return {barriers_, place_of(piece, ring_.full)};
  }
  kernel::LocalRef empty(std::int64_t piece) const {
    return {barriers_, b_.add(buffer_of(piece), ring_.full)};
  }
  StmtRef wait(std::int64_t piece) const;
  StmtRef let_go(std::int64_t piece) const;
  void copy(const Source &source, const WgmmaTiles &tiles, std::int64_t piece, Stmts &list) const;

  const schedule::AheadRing ring_;
  const std::int64_t turns_;
  std::vector<Source> sources_;
  BufferId barriers_{-1}, place_{-1};
  // Of this work-item: its row in the tile, its column in a panel, its group's first element in a
  // buffer, and its own in that of the piece that is read.
  ExprRef row_{}, along_{}, group_{}, first_{};
};

} // namespace tilefuse::lower
