// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_ahead.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::MbarrierOp;

WgmmaAhead::WgmmaAhead(Context &cx)
    : GemmPart(cx), turns_(cx.schedule.roles.math.instances), buffers_(cx.schedule.extra.stages),
      slots_(std::max(turns_, buffers_)) {
  for (const schedule::AheadOperand &operand : ahead_operands(cx.gemm())) {
    const kernel::MapId map = declare_map(cx, operand, fmt::format("ahead_map_{}", operand.extra),
                                          cx.slot_buffers[cx.nest.extras[at(operand.extra)].slot],
                                          operand.columns * operand.elem_bytes);
    const BufferId buffer = declare_local(cx, schedule::LocalUse::Operand, operand.extra);
    sources_.push_back({operand, map, buffer});
  }
  barriers_ = declare_local(cx, schedule::LocalUse::OperandBarriers);
  place_ = register_buffer(b_, "ahead_place", {DType::I32, 1}, slots_ == 1 ? 1 : 2);
}

ExprRef WgmmaAhead::buffer_of(ExprRef slot) const { return buffers_ == 1 ? b_.integer(0) : slot; }

kernel::LocalRef WgmmaAhead::empty(ExprRef slot) const {
  return {barriers_, b_.add(buffer_of(slot), slots_)};
}

StmtRef WgmmaAhead::init() const {
  const std::int64_t warps = tile_.warps() * schedule::kGroupWarps;
  Stmts list;
  for (std::int64_t i = 0; i < slots_; ++i)
    list.push_back(b_.mbarrier({MbarrierOp::Init, full(b_.integer(i)), b_.integer(1)}));
  for (std::int64_t i = 0; i < buffers_; ++i)
    list.push_back(b_.mbarrier({MbarrierOp::Init, empty(b_.integer(i)), b_.integer(warps)}));
  return b_.block(std::move(list));
}

// To the next phase where `flips` holds.
StmtRef WgmmaAhead::flip(ExprRef flips) const {
  const ExprRef next = b_.sub(1, state(kParity));
  return b_.store(place_, kParity,
                  flips == nullptr ? next : b_.select(flips, next, state(kParity)));
}

// The panels of an operand's tile, where tiles stand.
void WgmmaAhead::copy(const Source &source, const WgmmaTiles &tiles, ExprRef slot,
                      Stmts &list) const {
  for (std::int64_t column = 0; column < tile_.columns; column += source.operand.columns) {
    kernel::TensorCopy copy{
        .to = {source.buffer, b_.add(b_.mul(buffer_of(slot), tile_elems()), column * tile_.rows)},
        .map = source.map,
        .at = {b_.add(tiles.first_column(), column)},
        .signals = full(slot)};
    for (const std::optional<IndexId> index : source.operand.pixels)
      copy.at.push_back(cx_.origin[*index]);
    if (source.operand.pixels.empty())
      copy.at.push_back(tiles.first_row());
    list.push_back(b_.tensor_copy(std::move(copy)));
  }
}

StmtRef WgmmaAhead::copy_tile(const WgmmaTiles &tiles) const {
  std::int64_t bytes = 0;
  for (const Source &source : sources_)
    bytes += tile_elems() * source.operand.elem_bytes;
  const ExprRef slot = slots_ == 1 ? b_.integer(0) : state(kSlot);
  const ExprRef is_last = b_.equal(slot, slots_ - 1);
  Stmts list = {b_.mbarrier({MbarrierOp::Wait, empty(slot), state(kParity)}),
                b_.mbarrier({MbarrierOp::Expect, full(slot), b_.integer(bytes)})};
  for (const Source &source : sources_)
    copy(source, tiles, slot, list);
  list.push_back(flip(buffers_ == 1 ? nullptr : is_last));
  if (slots_ > 1)
    list.push_back(b_.store(place_, kSlot, b_.select(is_last, 0, b_.add(slot, 1))));
  return b_.block(std::move(list));
}

StmtRef WgmmaAhead::start_copies() const {
  const auto start = [&](std::int64_t which, std::int64_t value) {
    return b_.store(place_, which, value);
  };
  return b_.block({start(kParity, 1), slots_ > 1 ? start(kSlot, 0) : nullptr});
}

StmtRef WgmmaAhead::produce(WgmmaTiles &tiles) const {
  const StmtRef all = tiles.each(nullptr, [&](ExprRef tile, Stmts &list) {
    tiles.take_apart(tile, list);
    list.push_back(copy_tile(tiles));
  });
  return b_.block({b_.await_earlier(), start_copies(), all});
}

StmtRef WgmmaAhead::start(ExprRef turn) {
  turn_ = turn;
  return b_.block(
      {b_.store(place_, kParity, 0), slots_ > turns_ ? b_.store(place_, kSlot, turn_) : nullptr});
}

ExprRef WgmmaAhead::own_slot() const { return slots_ > turns_ ? state(kSlot) : turn_; }

StmtRef WgmmaAhead::wait() const {
  return b_.mbarrier({MbarrierOp::Wait, full(own_slot()), state(kParity)});
}

// To the slot of the group's next tile, `turns` further.
StmtRef WgmmaAhead::advance() const {
  if (slots_ == turns_)
    return flip(nullptr);
  const ExprRef next = b_.add(state(kSlot), turns_);
  const ExprRef wraps = b_.less(slots_ - 1, next);
  return b_.block(
      {flip(wraps), b_.store(place_, kSlot, b_.select(wraps, b_.sub(next, slots_), next))});
}

StmtRef WgmmaAhead::let_go() const {
  return b_.block({b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item(b_, b_.mbarrier({MbarrierOp::Arrive, empty(own_slot())})),
                   advance()});
}

void WgmmaAhead::place(ExprRef row, ExprRef column, ExprRef along, Stmts &list) {
  row_ = named(b_, list, "ahead_row", row);
  along_ = named(b_, list, "ahead_along", along);
  const std::int64_t columns = sources_.front().operand.columns; // equal in all
  first_ =
      named(b_, list, "ahead_first",
            b_.add(b_.add(b_.mul(buffer_of(own_slot()), tile_elems()), b_.mul(column, tile_.rows)),
                   b_.mul(row_, columns)));
}

ExprRef WgmmaAhead::load(int extra, std::int64_t rows, std::int64_t columns, int lanes) const {
  constexpr std::int64_t kSwizzleRows = 8; // after which a swizzle repeats
  for (const Source &source : sources_) {
    const schedule::AheadOperand &operand = source.operand;
    if (operand.extra != extra)
      continue;
    const std::int64_t inside = columns % operand.columns;
    const ExprRef stands = run_in_row(b_, operand.elem_bytes, operand.columns,
                                      b_.add(row_, rows % kSwizzleRows), inside, along_);
    const std::int64_t further = rows * operand.columns + (columns - inside) * tile_.rows;
    return b_.load(source.buffer, b_.add(b_.add(first_, stands), further), lanes);
  }
  return nullptr;
}

} // namespace tilefuse::lower
