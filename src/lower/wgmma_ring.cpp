// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma_ring.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::Space;
using kernel::StmtRef;

WgmmaRing::WgmmaRing(Context &context, const schedule::CoreRoles &roles,
                     const schedule::CoreTile &tile, const WgmmaCluster &cluster)
    : b_(context.build), tile_(tile), cluster_(cluster), count_(context.schedule.core.ring),
      takes_turns_(context.schedule.core.turns > 1),
      warps_(tile.warps() * schedule::kGroupItems / kCoreLanes) {
  const auto ring = [&](const char *name, int input, std::int64_t elems) {
    const auto from = context.source_buffers[static_cast<std::size_t>(input)];
    return b_.buffer({.name = name,
                      .space = Space::Local,
                      .type = b_.kernel()[from].type,
                      .elems = count_ * elems});
  };
  data_ = ring("data", roles.data, data_elems());
  filter_ = ring("filter", roles.filter, filter_elems());
  barriers_ = b_.buffer({.name = "barriers",
                         .space = Space::Local,
                         .type = {DType::I64, 1},
                         .elems = 2 * count_ + (takes_turns_ ? kTurns : 0)});
  place_ = b_.buffer({.name = "place",
                      .space = Space::Register,
                      .type = {DType::I32, 1},
                      .elems = takes_turns_ ? 4 : 3});
}

kernel::LocalRef WgmmaRing::empty(ExprRef slot) const {
  return {barriers_, b_.add(slot, b_.integer(count_))};
}

StmtRef WgmmaRing::let_go() const {
  const ExprRef item = b_.mod(b_.lane(), b_.integer(kCoreLanes));
  kernel::Mbarrier arrive{.op = kernel::MbarrierOp::Arrive, .at = empty(before())};
  const StmtRef here =
      b_.branch(b_.scalar(ScalarOp::Eq, {item, b_.integer(0)}), b_.mbarrier(arrive));
  if (cluster_.size() == 1)
    return here;
  arrive.rank = cluster_.source(item);
  const ExprRef is_other =
      b_.logical_and(b_.scalar(ScalarOp::Lt, {b_.integer(0), item}),
                     b_.scalar(ScalarOp::Lt, {item, b_.integer(cluster_.sources())}));
  return b_.block({here, b_.branch(is_other, b_.mbarrier(arrive))});
}

StmtRef WgmmaRing::init() const {
  std::vector<StmtRef> list;
  for (std::int64_t i = 0; i < count_; ++i) {
    list.push_back(b_.mbarrier({kernel::MbarrierOp::Init, full(b_.integer(i)), b_.integer(1)}));
    list.push_back(b_.mbarrier(
        {kernel::MbarrierOp::Init, empty(b_.integer(i)), b_.integer(warps_ * cluster_.sources())}));
  }
  for (std::int64_t i = 0; takes_turns_ && i < kTurns; ++i)
    list.push_back(b_.mbarrier({kernel::MbarrierOp::Init, turn_of(b_.integer(i)), b_.integer(1)}));
  return b_.block(std::move(list));
}

StmtRef WgmmaRing::start(int parity) const {
  return b_.block({b_.store(place_, b_.integer(kSlot), b_.integer(0)),
                   b_.store(place_, b_.integer(kParity), b_.integer(parity)),
                   b_.store(place_, b_.integer(kBefore), b_.integer(0))});
}

kernel::LocalRef WgmmaRing::turn_of(ExprRef turn) const {
  return {barriers_, b_.add(turn, b_.integer(2 * count_))};
}

StmtRef WgmmaRing::start_turn(ExprRef turn, std::int64_t steps) const {
  const ExprRef is_first = b_.scalar(ScalarOp::Eq, {turn, b_.integer(0)});
  const auto later = [&](std::int64_t value) {
    return b_.select(is_first, b_.integer(0), b_.integer(value));
  };
  return b_.block({b_.store(place_, b_.integer(kSlot), later(steps % count_)),
                   b_.store(place_, b_.integer(kParity), later(steps / count_ % 2)),
                   b_.store(place_, b_.integer(kBefore), b_.integer(0)),
                   b_.store(place_, b_.integer(kTurn), b_.sub(b_.integer(1), turn))});
}

StmtRef WgmmaRing::skip(std::int64_t steps) const {
  const kernel::VarId next = b_.variable("next", {});
  const ExprRef is_end = b_.scalar(ScalarOp::Le, {b_.integer(count_), b_.var(next)});
  const ExprRef flipped = b_.sub(b_.integer(1), parity());
  const bool flips = steps / count_ % 2 != 0;
  return b_.block(
      {b_.let(next, b_.add(slot(), b_.integer(steps % count_))),
       b_.store(place_, b_.integer(kSlot),
                b_.select(is_end, b_.sub(b_.var(next), b_.integer(count_)), b_.var(next))),
       b_.store(place_, b_.integer(kParity),
                flips ? b_.select(is_end, parity(), flipped)
                      : b_.select(is_end, flipped, parity()))});
}

StmtRef WgmmaRing::wait_turn(ExprRef turn) const {
  return b_.block({b_.mbarrier({kernel::MbarrierOp::Wait, turn_of(turn), at(kTurn)}),
                   b_.store(place_, b_.integer(kTurn), b_.sub(b_.integer(1), at(kTurn)))});
}

StmtRef WgmmaRing::end_turn(ExprRef turn) const {
  const ExprRef is_one = b_.scalar(
      ScalarOp::Eq, {b_.mod(b_.lane(), b_.integer(schedule::kGroupItems)), b_.integer(0)});
  return b_.branch(is_one,
                   b_.mbarrier({kernel::MbarrierOp::Arrive, turn_of(b_.sub(b_.integer(1), turn))}));
}

StmtRef WgmmaRing::advance() const {
  const kernel::VarId next = b_.variable("next", {});
  const ExprRef is_end = b_.scalar(ScalarOp::Eq, {b_.var(next), b_.integer(count_)});
  return b_.block(
      {b_.store(place_, b_.integer(kBefore), slot()), b_.let(next, b_.add(slot(), b_.integer(1))),
       b_.store(place_, b_.integer(kSlot), b_.select(is_end, b_.integer(0), b_.var(next))),
       b_.store(place_, b_.integer(kParity),
                b_.select(is_end, b_.sub(b_.integer(1), parity()), parity()))});
}

} // namespace tilefuse::lower
