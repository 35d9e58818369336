// SPDX-License-Identifier: Apache-2.0
// The ring of a kernel with wgmma: local buffers of both inputs, their mbarriers, and the buffer at
// which each role stands.
#pragma once

#include "lower/context.h"
#include "schedule/wgmma.h"

namespace tilefuse::lower {

class WgmmaRing {
public:
  WgmmaRing(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile);

  kernel::BufferId data() const { return data_; }
  kernel::BufferId filter() const { return filter_; }
  // Elements of one buffer.
  std::int64_t data_elems() const { return tile_.rows * tile_.depth; }
  std::int64_t filter_elems() const { return tile_.columns * tile_.depth; }
  std::int64_t bytes() const { return (data_elems() + filter_elems()) * tile_.elem_bytes; }

  // By one work-item, before a barrier of the block.
  kernel::StmtRef init() const;
  // The first buffer; `parity` that of the phase to wait for.
  kernel::StmtRef start(int parity) const;
  kernel::StmtRef advance() const;
  kernel::ExprRef slot() const { return at(kSlot); }
  kernel::ExprRef parity() const { return at(kParity); }
  kernel::ExprRef before() const { return at(kBefore); } // the buffer left last
  kernel::LocalRef full(kernel::ExprRef slot) const { return {barriers_, slot}; }
  kernel::LocalRef empty(kernel::ExprRef slot) const;

private:
  static constexpr std::int64_t kSlot = 0;
  static constexpr std::int64_t kParity = 1;
  static constexpr std::int64_t kBefore = 2;
  kernel::ExprRef at(std::int64_t which) const { return b_.load(place_, b_.integer(which)); }

  kernel::Builder &b_;
  const schedule::CoreTile &tile_;
  const std::int64_t count_;
  const std::int64_t warps_; // that read
  kernel::BufferId data_{-1}, filter_{-1}, barriers_{-1}, place_{-1};
};

} // namespace tilefuse::lower
