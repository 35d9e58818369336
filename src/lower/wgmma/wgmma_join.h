// SPDX-License-Identifier: Apache-2.0
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

#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_cluster.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

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
  const std::int64_t vec_;     // of them, that lie in a row
  BufferId parts_{-1}, barriers_{-1}, phase_{-1};
};

} // namespace tilefuse::lower
