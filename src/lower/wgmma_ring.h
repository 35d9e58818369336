// SPDX-License-Identifier: Apache-2.0
// The ring of a kernel with wgmma: local buffers of both inputs, their mbarriers, and the buffer at
// which each role stands.
#pragma once

#include "lower/context.h"
#include "lower/wgmma_cluster.h"
#include "schedule/wgmma.h"

namespace tilefuse::lower {

class WgmmaRing {
public:
  WgmmaRing(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile,
            const WgmmaCluster &cluster);

  kernel::BufferId data() const { return data_; }
  kernel::BufferId filter() const { return filter_; }
  // Elements of one buffer.
  std::int64_t data_elems() const { return tile_.rows * tile_.spread * tile_.depth; }
  std::int64_t filter_elems() const { return tile_.columns * tile_.depth; }
  std::int64_t bytes() const { return (data_elems() + filter_elems()) * tile_.elem_bytes; }

  // By one work-item, before a barrier of the block.
  kernel::StmtRef init() const;
  // The first buffer; `parity` that of the phase to wait for.
  kernel::StmtRef start(int parity) const;
  kernel::StmtRef advance() const;
  // A work-item of each warp says to each block that copies here that its warp has read the buffer
  // left last.
  kernel::StmtRef let_go() const;

  // Groups that take tiles in turn, `turn` this one's number: where it starts, `steps` buffers to
  // each before it; over the other's buffers; until it may multiply; letting the other do so.
  kernel::StmtRef start_turn(kernel::ExprRef turn, std::int64_t steps) const;
  kernel::StmtRef skip(std::int64_t steps) const;
  kernel::StmtRef wait_turn(kernel::ExprRef turn) const;
  kernel::StmtRef end_turn(kernel::ExprRef turn) const;
  kernel::ExprRef slot() const { return at(kSlot); }
  kernel::ExprRef parity() const { return at(kParity); }
  kernel::ExprRef before() const { return at(kBefore); } // the buffer left last
  kernel::LocalRef full(kernel::ExprRef slot) const { return {barriers_, slot}; }
  kernel::LocalRef empty(kernel::ExprRef slot) const;

private:
  static constexpr std::int64_t kSlot = 0;
  static constexpr std::int64_t kParity = 1;
  static constexpr std::int64_t kBefore = 2;
  static constexpr std::int64_t kTurn = 3; // parity of the phase in which it is this group's turn
  static constexpr std::int64_t kTurns = 2;
  kernel::LocalRef turn_of(kernel::ExprRef turn) const;
  kernel::ExprRef at(std::int64_t which) const { return b_.load(place_, b_.integer(which)); }

  kernel::Builder &b_;
  const schedule::CoreTile &tile_;
  const WgmmaCluster &cluster_;
  const std::int64_t count_;
  const bool takes_turns_;
  const std::int64_t warps_; // that read
  kernel::BufferId data_{-1}, filter_{-1}, barriers_{-1}, place_{-1};
};

} // namespace tilefuse::lower
