// SPDX-License-Identifier: Apache-2.0
// A block's place in its cluster (schedule/wgmma/wgmma.h): which slices of shared tiles it copies,
// to whom, and at whose mbarriers it arrives. The block of row r and column c has the rank r *
// columns
// + c; that of a part is its number, and of parts nothing is shared. Without a cluster everything
// folds away.
#pragma once

#include "kernel/build.h"
#include "schedule/schedule.h"

namespace tilefuse::lower {

class WgmmaCluster {
public:
  WgmmaCluster(kernel::Builder &build, const schedule::Core &core)
      : b_(build), rows_(core.cluster_rows), columns_(core.cluster_columns),
        parts_(core.cluster_parts) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t size() const { return rows_ * columns_ * parts_; }
  kernel::ExprRef number() const { return b_.div(b_.block(), b_.integer(size())); }
  // Of this block in the cluster.
  kernel::ExprRef row() const { return b_.div(place(), b_.integer(columns_)); }
  kernel::ExprRef column() const { return b_.mod(place(), b_.integer(columns_)); }
  kernel::ExprRef part() const { return parts_ > 1 ? rank() : b_.integer(0); }
  // Of a tile's steps, those that this block takes: its first, the one behind its last, and their
  // number.
  kernel::ExprRef first_step(std::int64_t steps) const;
  kernel::ExprRef end_step(std::int64_t steps) const;
  kernel::ExprRef step_count(std::int64_t steps) const;

  // Those that share this block's tile of data, the blocks of its row, as a mask of ranks; and of
  // the filter, those of its column. Null: nobody else does.
  kernel::ExprRef share_data() const;
  kernel::ExprRef share_filter() const;

  // Blocks that copy into this one's ring, itself the first of them; the rank of one by number.
  std::int64_t sources() const { return rows_ + columns_ - 1; }
  kernel::ExprRef source(kernel::ExprRef number) const;

  // Of the block, or of the cluster where there is one.
  kernel::StmtRef barrier() const {
    return b_.barrier({.items = size() > 1 ? kernel::kClusterItems : 0});
  }

private:
  kernel::ExprRef rank() const { return b_.mod(b_.block(), b_.integer(size())); }
  kernel::ExprRef place() const { return parts_ > 1 ? b_.integer(0) : rank(); }

  kernel::Builder &b_;
  const std::int64_t rows_;
  const std::int64_t columns_;
  const std::int64_t parts_;
};

} // namespace tilefuse::lower
