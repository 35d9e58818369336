// SPDX-License-Identifier: Apache-2.0
// Operands of post-ops that tensor copies bring to local memory while their tile is multiplied
// (schedule/wgmma/wgmma_panels.h). A warp of the producer's group does nothing else, so that neither
// these copies nor those of the ring wait for each other; where all its warps load, a work-item
// starts them among its loads:
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
#include "schedule/wgmma/wgmma_panels.h"

namespace tilefuse::lower {

class WgmmaAhead : GemmPart {
public:
  explicit WgmmaAhead(Context &context);

  // By one work-item, before a barrier of the block.
  StmtRef init() const;
  // The copies of all the block's tiles, by one work-item of a warp.
  StmtRef produce(WgmmaTiles &tiles) const;
  // The same one by one, where the warp has other work between them: before the first, and those
  // of the tile last taken apart.
  StmtRef start_copies() const;
  StmtRef copy_tile(const WgmmaTiles &tiles) const;

  // The buffer of groups with that turn.
  StmtRef start(ExprRef turn);
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
  static constexpr std::int64_t kParity = 0;
  static constexpr std::int64_t kSlot = 1; // of what is copied next, or of the group's tile
  std::int64_t tile_elems() const { return tile_.rows * tile_.columns; }
  ExprRef buffer_of(ExprRef slot) const;
  kernel::LocalRef full(ExprRef slot) const { return {barriers_, slot}; }
  kernel::LocalRef empty(ExprRef slot) const;
  ExprRef own_slot() const;
  StmtRef advance() const;
  ExprRef state(std::int64_t which) const { return b_.load(place_, which); }
  StmtRef flip(ExprRef flips) const;
  void copy(const Source &source, const WgmmaTiles &tiles, ExprRef slot, Stmts &list) const;

  const std::int64_t turns_;
  const std::int64_t buffers_;
  const std::int64_t
      slots_; // buffers, or turns where one serves all; tile after tile takes the next
  std::vector<Source> sources_;
  BufferId barriers_{-1}, place_{-1};
  ExprRef turn_{};                    // of this group
  ExprRef row_{}, along_{}, first_{}; // of this work-item: in the tile, and its first element
};

} // namespace tilefuse::lower
