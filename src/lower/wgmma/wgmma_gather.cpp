// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_gather.h"

#include <deque>
#include <utility>

#include "lower/mma/core_map.h"
#include "lower/mma/gemm_part.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {
namespace {

class WgmmaGather : GemmPart {
public:
  WgmmaGather(Context &context, const WgmmaParts &parts, FillFilter filter)
      : GemmPart(context), tiles_(parts.tiles), ring_(parts.data_ring),
        count_(step_stages(cx_.schedule)), ahead_(cx_.schedule.roles.load.lead),
        filter_(std::move(filter)), extra_(parts.ahead) {
    const int data = cx_.gemm().roles.data;
    for (const CopiedInput &copied : copied_inputs(cx_, data))
      sides_.emplace_back(cx_, data,
                          CoreSource{.nest = copied.nest,
                                     .from = copied.from,
                                     .ring = ring_.copied(data)[sides_.size()],
                                     .item = b_.lane(),
                                     .items = schedule::kGroupItems});
    under_way_ = register_buffer(b_, "under_way", {DType::I32, 1}, extra_ == nullptr ? 2 : 3);
  }

  StmtRef build() {
    Stmts all = {ring_.start(1), set(kCount, integer(0)), set(kOldest, integer(0)),
                 extra_ == nullptr ? nullptr : by_extra_item(extra_->start_copies())};
    all.push_back(tiles_.each(nullptr, [&](ExprRef tile, Stmts &list) {
      tiles_.take_apart(tile, list);
      for (CoreSide &side : sides_)
        list.push_back(side.declare(tiles_.first_row()));
      if (extra_ != nullptr)
        list.push_back(set(kOfTile, integer(0)));
      Positions points = tiles_.first_points();
      list.push_back(tiles_.each_step(points, [&] { return step(points); }));
    }));
    for (int pending = ahead_ - 1; pending >= 0; --pending)
      all.push_back(b_.branch(b_.less(pending, state(kCount)), give(pending)));
    return b_.block(std::move(all));
  }

private:
  static constexpr std::int64_t kCount = 0;  // of steps
  static constexpr std::int64_t kOldest = 1; // the buffer of the first of them
  static constexpr std::int64_t kOfTile = 2; // steps of this tile that are started
  ExprRef state(std::int64_t which) const { return b_.load(under_way_, which); }
  StmtRef set(std::int64_t which, ExprRef value) const {
    return b_.store(under_way_, which, value);
  }
  StmtRef by_extra_item(StmtRef body) const { return b_.branch(b_.equal(b_.lane(), 0), body); }

  WgmmaTiles &tiles_;
  const WgmmaRing &ring_;
  const int count_; // buffers
  const int ahead_;
  const FillFilter filter_;
  const WgmmaAhead *extra_;    // what post-ops read, brought among the loads; or null
  std::deque<CoreSide> sides_; // of pixels by their number: the data, or what its map reads
  BufferId under_way_{-1};

  // What post-ops of the tile read, behind so many of its steps that all of the tile before may be
  // multiplied: its buffer is given up when they are.
  StmtRef copy_extra() const {
    if (extra_ == nullptr)
      return nullptr;
    const ExprRef is_time = b_.equal(state(kOfTile), ahead_);
    return b_.block({b_.branch(is_time, by_extra_item(extra_->copy_tile(tiles_))),
                     set(kOfTile, b_.add(state(kOfTile), 1))});
  }

  // The oldest step under way may be multiplied, once so many are left.
  StmtRef give(int pending) const {
    const kernel::VarId next = b_.variable("next", {});
    const ExprRef is_end = b_.equal(b_.var(next), count_);
    return b_.block({b_.async_wait(pending), ring_.say_full(state(kOldest)),
                     b_.let(next, b_.add(state(kOldest), 1)),
                     set(kOldest, b_.select(is_end, 0, b_.var(next)))});
  }

  // The step that so many are started behind.
  StmtRef give_later() const {
    if (ahead_ == 0)
      return give(0);
    const ExprRef is_short = b_.less(state(kCount), ahead_);
    return b_.branch(is_short, set(kCount, b_.add(state(kCount), 1)), give(ahead_));
  }

  StmtRef step(const Positions &points) const {
    Stmts list = {ring_.wait_empty(), filter_(points)};
    for (const CoreSide &side : sides_)
      list.push_back(side.start_at(points, ring_.slot()));
    list.insert(list.end(), {b_.async_commit(), give_later(), copy_extra(), ring_.advance()});
    return b_.block(std::move(list));
  }
};

} // namespace

StmtRef gather_data(Context &context, const WgmmaParts &parts, FillFilter filter) {
  return WgmmaGather(context, parts, std::move(filter)).build();
}

} // namespace tilefuse::lower
