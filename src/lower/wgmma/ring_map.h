// SPDX-License-Identifier: Apache-2.0
// What a map feeds in one buffer of a ring with wgmma (schedule/mma/core_feeds.h), as rows of
// 16-byte chunks: those of one work-item, where tensor copies leave what the map reads. It has the
// same chunk of every so many-th row, so that it reads a channel's numbers once for all of them.
#pragma once

#include <vector>

#include "lower/context.h"
#include "lower/wgmma/wgmma_ring.h"
#include "schedule/mma/core_feeds.h"

namespace tilefuse::lower {

class RingMap {
public:
  // Rows of `row_elems` elements.
  RingMap(Context &context, const schedule::CoreFeed &feed, const WgmmaRing &ring,
          std::int64_t row_elems);

  using List = std::vector<kernel::StmtRef>;
  // Gives the chunks to work-item number `item` of those that map.
  void place(kernel::ExprRef item, List &list);
  kernel::ExprRef first_row() const { return first_row_; } // this work-item's
  std::int64_t apart() const { return apart_; }            // rows from one of them to the next
  // The element of a row at which its chunks begin.
  kernel::ExprRef run() const { return run_; }

  // Reads what the rows share, at `points` by index, runs along the index `along`; `exists`: there
  // is such a run, null: yes.
  void read_shared(const Positions &points, IndexId along, kernel::ExprRef exists, List &list);
  // The subscripts that may leave the tensor, by `points`: without constants if those are shifts.
  std::vector<kernel::ExprRef> checked(const Positions &points, bool is_shift, List &list) const;
  // Whether the tensor has what lies at such subscripts; null: yes.
  kernel::ExprRef inside(const std::vector<kernel::ExprRef> &subscripts,
                         const std::vector<kernel::ExprRef> &shifts) const;
  // Maps this work-item's rows, those that exist, of which its first is `first` rows behind its
  // own.
  void map_rows(kernel::ExprRef first, const std::vector<kernel::ExprRef> &exists,
                List &list) const;

private:
  kernel::ExprRef load(int extra, kernel::ExprRef place, List &list) const;

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreFeed &feed_;
  const WgmmaRing &ring_;
  const Context &producer_;
  const nest::Nest &map_;
  const std::int64_t row_elems_;
  const int lanes_;           // elements of a chunk
  const std::int64_t chunks_; // of a row
  const std::int64_t apart_;
  kernel::ExprRef first_row_{};
  kernel::ExprRef run_{};
  kernel::ExprRef place_{};             // of its first chunk in a buffer
  std::vector<kernel::ExprRef> shared_; // by extra
};

} // namespace tilefuse::lower
