// SPDX-License-Identifier: Apache-2.0
// The ring of a kernel with wgmma: local buffers of both inputs, their mbarriers, and the buffer at
// which each role stands. Windows of data and the filter beside them have a ring each.
#pragma once

#include <string>
#include <vector>

#include "base/index.h"
#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_cluster.h"
#include "schedule/mma/core_feeds.h"

namespace tilefuse::lower {

// What a buffer holds: both inputs of a step, or the filter alone beside windows, which have another
// ring.
enum class RingUse { Steps, Windows };

class WgmmaRing : GemmPart {
public:
  WgmmaRing(Context &context, const WgmmaCluster &cluster, RingUse use);

  // The same ring where the same work-items stand at another buffer as well, which they fill.
  WgmmaRing beside(const std::string &name) const;
  BufferId data() const { return data_; }
  BufferId filter() const { return filter_; }
  // Registers that say at which buffer these work-items stand: slot, parity, …
  BufferId place() const { return place_; }
  // Of an input: its own, then those of what a map reads beside (schedule/mma/core_feeds.h).
  const std::vector<BufferId> &copied(int input) const { return copied_[at(input)]; }
  // Elements of one buffer.
  std::int64_t data_elems() const { return data_elems_; }
  std::int64_t filter_elems() const { return filter_elems_; }
  std::int64_t elems(int input) const {
    return input == roles_.data ? data_elems() : filter_elems();
  }
  std::int64_t bytes() const {
    return (data_copied_ + filter_copied_ + beside_elems_) * tile_.elem_bytes;
  }

  // By one work-item, before a barrier of the block.
  StmtRef init() const;
  // The first buffer; `parity` that of the phase to wait for.
  StmtRef start(int parity) const;
  StmtRef advance() const;
  // Until the buffer is empty; or full; and ready too, where it is mapped, turned or dealt.
  StmtRef wait_empty() const;
  StmtRef wait_full() const;
  StmtRef wait() const;
  // Until all of a filter is dealt: groups that began at once would store at once as well.
  StmtRef wait_dealt() const;
  // Behind a warp's stores, which instructions then see: that it has filled its part of buffer
  // `slot`; that it has mapped, turned or dealt its part of this one.
  StmtRef say_full(ExprRef slot) const { return publish(full(slot)); }
  StmtRef say_ready() const { return publish(ready(slot())); }
  // A work-item of each warp says to each block that copies here that its warp has read the buffer
  // left last.
  StmtRef let_go() const;

  // Groups that take tiles in turn, `turn` this one's number: where it starts, `steps` buffers to
  // each before it; over the other's buffers; until it may multiply; letting the other do so.
  StmtRef start_turn(ExprRef turn, std::int64_t steps) const;
  StmtRef skip(std::int64_t steps) const;
  StmtRef wait_turn(ExprRef turn) const;
  StmtRef end_turn(ExprRef turn) const;
  ExprRef slot() const { return state(kSlot); }
  ExprRef parity() const { return state(kParity); }
  ExprRef before() const { return state(kBefore); } // the buffer left last
  kernel::LocalRef full(ExprRef slot) const { return {barriers_, slot}; }
  kernel::LocalRef empty(ExprRef slot) const;
  kernel::LocalRef ready(ExprRef slot) const;

private:
  std::int64_t copied_elems(int input) const {
    return input == roles_.data ? data_copied_ : filter_copied_;
  }
  static constexpr std::int64_t kSlot = 0;
  static constexpr std::int64_t kParity = 1;
  static constexpr std::int64_t kBefore = 2;
  static constexpr std::int64_t kTurn = 3; // parity of the phase in which it is this group's turn
  static constexpr std::int64_t kTurns = 2;
  BufferId new_place(const std::string &name) const;
  kernel::LocalRef turn_of(ExprRef turn) const;
  StmtRef publish(kernel::LocalRef at) const;
  ExprRef state(std::int64_t which) const { return b_.load(place_, which); }

  const WgmmaCluster &cluster_;
  const std::int64_t count_;
  const bool holds_data_;
  const bool takes_turns_;
  bool knows_before_;        // a buffer is let go of
  const bool is_dealt_;      // a warp deals its filter before others read it
  const std::int64_t warps_; // that read
  std::int64_t gatherers_,
      mappers_; // warps that fill a buffer beside tensor copies; map, turn or deal it
  std::int64_t data_elems_ = 0, data_copied_ = 0, filter_elems_ = 0, filter_copied_ = 0;
  std::int64_t beside_elems_ = 0;             // copied to one buffer, of what maps read besides
  std::vector<std::vector<BufferId>> copied_; // by input
  BufferId data_{-1}, filter_{-1}, barriers_{-1}, place_{-1};
};

// Moves a role over `steps` of a ring of `count` buffers: its slot and parity are the first two of
// `place`.
StmtRef skip_buffers(kernel::Builder &build, BufferId place, std::int64_t count,
                     std::int64_t steps);

} // namespace tilefuse::lower
