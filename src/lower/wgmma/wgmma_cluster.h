// SPDX-License-Identifier: Apache-2.0
// A block's place in its cluster (schedule/wgmma/wgmma.h): which slices of shared tiles it copies,
// to whom, and at whose mbarriers it arrives. The rank of a block is
//
//   r * columns + c   in row r and column c of the cluster
//   p                 where the blocks of a cluster take parts of one tile, of part p; these share
//                     nothing
//
// Without a cluster all expressions fold to constants.
#pragma once

#include "kernel/build.h"
#include "schedule/schedule.h"

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

} // namespace tilefuse::lower
