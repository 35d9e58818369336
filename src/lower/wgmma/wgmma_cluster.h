// SPDX-License-Identifier: Apache-2.0
// A block's place in its cluster (schedule/mma/core.h): which slices of shared tiles it copies,
// to whom, and at whose mbarriers it arrives. The rank of a block is
//
//   r * columns + c   in row r and column c of the cluster
//   p                 where the blocks of a cluster take parts of one tile, of part p; these share
//                     nothing
//
// Without a cluster all expressions fold to constants.
//
// Parts of a tile that the blocks of a cluster have computed, joined
// (schedule/wgmma/wgmma_tiles.h): each block writes its accumulators to its local memory and says
// so to all; when all have, each adds up its slice from every block's, in the order of the parts.
//
//   parts[… .. 2] = acc[0 .. 2] …
//   barrier warp
//   if lane % 32 < 4 { mbarrier_arrive given[0] rank lane % 32 cluster }
//   mbarrier_wait given[0] phase[0] cluster
//   acc[0 .. 2] = parts[… .. 2 rank 0] + parts[… .. 2 rank 1] + parts[… .. 2 rank 2] + …
//
// Where a cluster takes several tiles, all say as well what they have read.
#pragma once

#include "kernel/build.h"
#include "lower/mma/gemm_part.h"
#include "schedule/schedule.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

class WgmmaCluster {
public:
  WgmmaCluster(kernel::Builder &build, const schedule::TileOrder &tiles)
      : b_(build), rows_(tiles.cluster_m), columns_(tiles.cluster_n), parts_(tiles.split_k) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t size() const { return rows_ * columns_ * parts_; }
  kernel::ExprRef number() const { return b_.div(b_.block(), size()); }
  // Row and column of this block in the cluster, and the part of the tile that it takes.
  kernel::ExprRef row() const { return b_.div(place(), columns_); }
  kernel::ExprRef column() const { return b_.mod(place(), columns_); }
  kernel::ExprRef part() const { return parts_ > 1 ? rank() : b_.integer(0); }
  // First step of a tile that this block takes, the one behind its last, and their number.
  kernel::ExprRef first_step(std::int64_t steps) const;
  kernel::ExprRef end_step(std::int64_t steps) const;
  kernel::ExprRef step_count(std::int64_t steps) const;

  // Masks of the ranks that share this block's tile of data (the blocks of its row) and of the
  // filter (those of its column). Null: no other block does.
  kernel::ExprRef share_data() const;
  kernel::ExprRef share_filter() const;

  // Number of blocks that copy into this one's ring, itself the first; and the rank of each.
  std::int64_t sources() const { return rows_ + columns_ - 1; }
  kernel::ExprRef source(kernel::ExprRef number) const;

  // Barrier of the block, or of the cluster where there is one.
  kernel::StmtRef barrier() const {
    return b_.barrier({.items = size() > 1 ? kernel::kClusterItems : 0});
  }

private:
  kernel::ExprRef rank() const { return b_.mod(b_.block(), size()); }
  kernel::ExprRef place() const { return parts_ > 1 ? b_.integer(0) : rank(); }

  kernel::Builder &b_;
  const std::int64_t rows_;
  const std::int64_t columns_;
  const std::int64_t parts_;
};

class WgmmaJoin : GemmPart {
public:
  // A cluster takes so many tiles at most.
  WgmmaJoin(Context &context, const WgmmaCluster &cluster, std::int64_t tiles);

  // By one work-item, before the barrier of the cluster; by those that have accumulators.
  StmtRef init() const;
  StmtRef start() const;
  // Behind it the first registers of `acc` hold this block's slice, as the accumulators of a tile
  // with those rows and columns, `halves` of the rows 8 apart, from `row` and `column` on.
  StmtRef join(BufferId acc) const;
  schedule::CoreTile slice() const;
  std::int64_t halves() const { return 2 / slices_.halves; }
  ExprRef row() const;
  ExprRef column() const;

private:
  std::int64_t accumulator(std::int64_t slice, std::int64_t value) const;
  StmtRef say(std::int64_t what) const;
  StmtRef wait(std::int64_t what, ExprRef parity) const;

  static constexpr std::int64_t kGiven = 0; // by all blocks: their accumulators
  static constexpr std::int64_t kTaken = 1; // by all blocks: what they needed of this one's

  const WgmmaCluster &cluster_;
  const schedule::PartSlices slices_;
  const bool is_repeated_;
  const std::int64_t columns_; // of the instruction
  const std::int64_t items_;   // that have accumulators
  const std::int64_t values_;  // of a slice, by work-item
  BufferId parts_{-1}, barriers_{-1}, phase_{-1};
};

} // namespace tilefuse::lower
