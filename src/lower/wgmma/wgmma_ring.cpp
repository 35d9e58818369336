// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_ring.h"

#include <utility>

#include "lower/expressions.h"
#include "lower/members.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::lower {

WgmmaRing::WgmmaRing(Context &context, const WgmmaCluster &cluster, RingUse use)
    : GemmPart(context), cluster_(cluster),
      count_(use == RingUse::Windows ? halo_stages(cx_.schedule) : step_stages(cx_.schedule)),
      holds_data_((use == RingUse::Windows) == (halo_stages(cx_.schedule) > 0)),
      takes_turns_(use == RingUse::Steps && multiplies_in_turn(cx_.schedule)),
      knows_before_(use == RingUse::Windows || !has_resident(cx_.schedule)),
      is_dealt_(use == RingUse::Steps && deals_kept_filter(cx_.gemm())),
      warps_(tile_.warps() * schedule::kGroupWarps),
      gatherers_(holds_data_ && has_loading_warps(cx_.schedule) ? schedule::kGroupWarps : 0) {
  using schedule::LocalUse;
  const auto elems = [&](BufferId buffer) { return b_.kernel()[buffer].elems / count_; };
  if (holds_data_) {
    data_ = declare_local(context, LocalUse::Data);
    data_elems_ = elems(data_);
    data_copied_ = gatherers_ > 0            ? 0
                   : use == RingUse::Windows ? window_rows(cx_.gemm()) * tile_.depth
                                             : data_elems_;
  }
  if (use == RingUse::Steps) {
    filter_ = declare_local(context, LocalUse::Filter);
    filter_elems_ = elems(filter_);
    const schedule::Gemm &gemm = cx_.gemm();
    filter_copied_ = gemm.halo.taps == 1
                         ? filter_elems_
                         : filter_elems_ / halo_elems(gemm) * gemm.halo_rows() * gemm.panel;
  }
  copied_.resize(context.nest.inputs.size());
  copied_[at(roles_.data)] = {data_};
  copied_[at(roles_.filter)] = {filter_};
  const bool has_feeds = holds_data_ && !cx_.members.resolved.feeds.empty();
  const bool is_transformed = has_feeds || (use == RingUse::Steps && turns_in_ring(context.gemm()));
  mappers_ = is_dealt_ ? 1 : is_transformed ? schedule::kGroupWarps : 0;
  for (const schedule::CoreFeed &feed : cx_.members.resolved.feeds) {
    const LocalUse input = feed.input == roles_.data ? LocalUse::Data : LocalUse::Filter;
    for (std::size_t k = 1; holds_data_ && k < feed.copied.size(); ++k) {
      copied_[at(feed.input)].push_back(declare_local(context, input, static_cast<int>(k)));
      beside_elems_ += copied_elems(feed.input);
    }
  }
  const bool is_all = use == RingUse::Steps;
  barriers_ = declare_local(context, is_all ? LocalUse::RingBarriers : LocalUse::WindowBarriers);
  place_ = new_place(is_all ? "place" : "window_place");
}

BufferId WgmmaRing::new_place(const std::string &name) const {
  return register_buffer(b_, name, {DType::I32, 1}, takes_turns_ ? 4 : knows_before_ ? 3 : 2);
}

WgmmaRing WgmmaRing::beside(const std::string &name) const {
  WgmmaRing other = *this;
  other.knows_before_ = false;
  other.place_ = new_place(name);
  return other;
}

kernel::LocalRef WgmmaRing::empty(ExprRef slot) const { return {barriers_, b_.add(slot, count_)}; }

// Behind the mbarriers of turns.
kernel::LocalRef WgmmaRing::ready(ExprRef slot) const {
  return {barriers_, b_.add(slot, 2 * count_ + (takes_turns_ ? kTurns : 0))};
}

StmtRef WgmmaRing::wait_empty() const {
  return b_.mbarrier({kernel::MbarrierOp::Wait, empty(slot()), parity()});
}

StmtRef WgmmaRing::wait_full() const {
  return b_.mbarrier({kernel::MbarrierOp::Wait, full(slot()), parity()});
}

StmtRef WgmmaRing::wait() const {
  Stmts list = {is_dealt_ ? nullptr : wait_full()}; // who deals has waited
  if (mappers_ > 0)
    list.push_back(b_.mbarrier({kernel::MbarrierOp::Wait, ready(slot()), parity()}));
  return b_.block(std::move(list));
}

StmtRef WgmmaRing::wait_dealt() const {
  if (!is_dealt_)
    return nullptr;
  const kernel::LocalRef last = ready(b_.integer(count_ - 1));
  return b_.mbarrier({kernel::MbarrierOp::Wait, last, b_.integer(0)});
}

StmtRef WgmmaRing::publish(kernel::LocalRef at) const {
  return b_.block({b_.store_sync({kernel::StoreStep::Fence}),
                   b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item(b_, b_.mbarrier({kernel::MbarrierOp::Arrive, at}))});
}

StmtRef WgmmaRing::let_go() const {
  const ExprRef item = item_of_warp(b_);
  kernel::Mbarrier arrive{.op = kernel::MbarrierOp::Arrive, .at = empty(before())};
  const StmtRef here = by_first_item(b_, b_.mbarrier(arrive));
  if (cluster_.sources() == 1)
    return here;
  arrive.rank = cluster_.source(item);
  const ExprRef is_other = b_.logical_and(b_.less(0, item), b_.less(item, cluster_.sources()));
  return b_.block({here, b_.branch(is_other, b_.mbarrier(arrive))});
}

StmtRef WgmmaRing::init() const {
  Stmts list;
  const std::int64_t arrivals = gatherers_ + (bytes() > 0 ? 1 : 0);
  for (std::int64_t i = 0; i < count_; ++i) {
    list.push_back(
        b_.mbarrier({kernel::MbarrierOp::Init, full(b_.integer(i)), b_.integer(arrivals)}));
    list.push_back(b_.mbarrier(
        {kernel::MbarrierOp::Init, empty(b_.integer(i)), b_.integer(warps_ * cluster_.sources())}));
    if (mappers_ > 0)
      list.push_back(
          b_.mbarrier({kernel::MbarrierOp::Init, ready(b_.integer(i)), b_.integer(mappers_)}));
  }
  for (std::int64_t i = 0; takes_turns_ && i < kTurns; ++i)
    list.push_back(b_.mbarrier({kernel::MbarrierOp::Init, turn_of(b_.integer(i)), b_.integer(1)}));
  return b_.block(std::move(list));
}

StmtRef WgmmaRing::start(int parity) const {
  return b_.block({b_.store(place_, kSlot, 0), b_.store(place_, kParity, parity),
                   knows_before_ ? b_.store(place_, kBefore, 0) : nullptr});
}

kernel::LocalRef WgmmaRing::turn_of(ExprRef turn) const {
  return {barriers_, b_.add(turn, 2 * count_)};
}

StmtRef WgmmaRing::start_turn(ExprRef turn, std::int64_t steps) const {
  const ExprRef is_first = b_.equal(turn, 0);
  const auto later = [&](std::int64_t value) { return b_.select(is_first, 0, value); };
  return b_.block({b_.store(place_, kSlot, later(steps % count_)),
                   b_.store(place_, kParity, later(steps / count_ % 2)),
                   b_.store(place_, kBefore, 0),
                   takes_turns_ ? b_.store(place_, kTurn, b_.sub(1, turn)) : nullptr});
}

StmtRef WgmmaRing::skip(std::int64_t steps) const {
  return skip_buffers(b_, place_, count_, steps);
}

StmtRef WgmmaRing::wait_turn(ExprRef turn) const {
  return b_.block({b_.mbarrier({kernel::MbarrierOp::Wait, turn_of(turn), state(kTurn)}),
                   b_.store(place_, kTurn, b_.sub(1, state(kTurn)))});
}

StmtRef WgmmaRing::end_turn(ExprRef turn) const {
  const ExprRef is_one = b_.equal(b_.mod(b_.lane(), schedule::kGroupItems), 0);
  return b_.branch(is_one, b_.mbarrier({kernel::MbarrierOp::Arrive, turn_of(b_.sub(1, turn))}));
}

StmtRef WgmmaRing::advance() const {
  const kernel::VarId next = b_.variable("next", {});
  const ExprRef is_end = b_.equal(b_.var(next), count_);
  return b_.block({knows_before_ ? b_.store(place_, kBefore, slot()) : nullptr,
                   b_.let(next, b_.add(slot(), 1)),
                   b_.store(place_, kSlot, b_.select(is_end, 0, b_.var(next))),
                   b_.store(place_, kParity, b_.select(is_end, b_.sub(1, parity()), parity()))});
}

StmtRef skip_buffers(kernel::Builder &build, BufferId place, std::int64_t count,
                     std::int64_t steps) {
  const ExprRef slot = build.integer(0), phase = build.integer(1);
  const kernel::VarId next = build.variable("next", {});
  const ExprRef is_end = build.scalar(ScalarOp::Le, {build.integer(count), build.var(next)});
  const ExprRef parity = build.load(place, phase);
  const ExprRef flipped = build.sub(1, parity);
  const bool flips = steps / count % 2 != 0;
  return build.block(
      {build.let(next, build.add(build.load(place, slot), steps % count)),
       build.store(place, slot,
                   build.select(is_end, build.sub(build.var(next), count), build.var(next))),
       build.store(place, phase,
                   flips ? build.select(is_end, parity, flipped)
                         : build.select(is_end, flipped, parity))});
}

} // namespace tilefuse::lower
