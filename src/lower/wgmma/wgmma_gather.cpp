// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_gather.h"

#include <utility>

#include "base/index.h"
#include "lower/mma/core_copies.h"
#include "schedule/wgmma/wgmma_gather.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::MbarrierOp;
using kernel::StmtRef;

class WgmmaGather {
public:
  WgmmaGather(Context &context, const WgmmaParts &parts, FillFilter filter)
      : cx_(context), b_(context.build), tiles_(parts.tiles), ring_(parts.data_ring),
        count_(cx_.schedule.core.ring), ahead_(cx_.schedule.core.lead), filter_(std::move(filter)),
        side_(cx_, parts.roles, parts.tile, parts.roles.data,
              CoreSource{.nest = cx_.nest,
                         .from = cx_.source_buffers[at(parts.roles.data)],
                         .ring = ring_.data(),
                         .item = b_.lane(),
                         .items = schedule::kGroupItems}) {
    under_way_ = b_.buffer({.name = "under_way",
                            .space = kernel::Space::Register,
                            .type = {DType::I32, 1},
                            .elems = 2});
  }

  StmtRef build();

private:
  using List = std::vector<StmtRef>;
  static constexpr std::int64_t kCount = 0;  // of steps
  static constexpr std::int64_t kOldest = 1; // the buffer of the first of them
  ExprRef integer(std::int64_t value) const { return b_.integer(value); }
  ExprRef state(std::int64_t which) const { return b_.load(under_way_, integer(which)); }
  StmtRef set(std::int64_t which, ExprRef value) const {
    return b_.store(under_way_, integer(which), value);
  }
  StmtRef give(int pending) const;
  StmtRef give_later() const;
  StmtRef step(const std::vector<ExprRef> &points) const;

  Context &cx_;
  kernel::Builder &b_;
  WgmmaTiles &tiles_;
  const WgmmaRing &ring_;
  const int count_; // buffers
  const int ahead_;
  const FillFilter filter_;
  CoreSide side_; // of pixels by their number
  kernel::BufferId under_way_{-1};
};

// The oldest step under way may be multiplied, once so many are left.
StmtRef WgmmaGather::give(int pending) const {
  const ExprRef item = b_.mod(b_.lane(), integer(kCoreLanes));
  const kernel::VarId next = b_.variable("next", {});
  const ExprRef is_end = b_.scalar(ScalarOp::Eq, {b_.var(next), integer(count_)});
  return b_.block({b_.async_wait(pending), b_.store_sync({kernel::StoreStep::Fence}),
                   b_.barrier({.items = kernel::kWarpItems}),
                   b_.branch(b_.scalar(ScalarOp::Eq, {item, integer(0)}),
                             b_.mbarrier({MbarrierOp::Arrive, ring_.full(state(kOldest))})),
                   b_.let(next, b_.add(state(kOldest), integer(1))),
                   set(kOldest, b_.select(is_end, integer(0), b_.var(next)))});
}

// The step that so many are started behind.
StmtRef WgmmaGather::give_later() const {
  if (ahead_ == 0)
    return give(0);
  const ExprRef is_short = b_.scalar(ScalarOp::Lt, {state(kCount), integer(ahead_)});
  return b_.branch(is_short, set(kCount, b_.add(state(kCount), integer(1))), give(ahead_));
}

StmtRef WgmmaGather::step(const std::vector<ExprRef> &points) const {
  return b_.block({b_.mbarrier({MbarrierOp::Wait, ring_.empty(ring_.slot()), ring_.parity()}),
                   filter_(points), side_.start_at(points, ring_.slot()), b_.async_commit(),
                   give_later(), ring_.advance()});
}

StmtRef WgmmaGather::build() {
  List all = {ring_.start(1), set(kCount, integer(0)), set(kOldest, integer(0))};
  all.push_back(tiles_.each(nullptr, [&](ExprRef tile, List &list) {
    tiles_.take_apart(tile, list);
    list.push_back(side_.declare(tiles_.first_row()));
    std::vector<ExprRef> points = tiles_.first_points();
    list.push_back(tiles_.each_step(points, [&] { return step(points); }));
  }));
  for (int pending = ahead_ - 1; pending >= 0; --pending)
    all.push_back(
        b_.branch(b_.scalar(ScalarOp::Lt, {integer(pending), state(kCount)}), give(pending)));
  return b_.block(std::move(all));
}

} // namespace

StmtRef gather_data(Context &context, const WgmmaParts &parts, FillFilter filter) {
  return WgmmaGather(context, parts, std::move(filter)).build();
}

} // namespace tilefuse::lower
