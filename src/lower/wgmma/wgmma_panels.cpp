// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_panels.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "nest/index.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

ResultBoxes::ResultBoxes(Context &cx)
    : GemmPart(cx), panel_(schedule::store_panel(cx.gemm())),
      lies_(schedule::result_map(cx.gemm())) {
  map_ =
      declare_map(cx, lies_, "result_map", cx.slot_buffers[cx.nest.out.slot], panel_.row_bytes());
  buffer_ = declare_local(cx, schedule::LocalUse::Boxes);
}

void ResultBoxes::place_warp(Stmts &list) {
  const ExprRef warp = b_.sub(b_.div(b_.lane(), kCoreLanes), schedule::kGroupWarps);
  first_ = named(b_, list, "boxes_first", b_.mul(warp, panel_.boxes * panel_.elems()));
}

ExprRef ResultBoxes::first_of(std::int64_t box) {
  return b_.add(first_, box % panel_.boxes * panel_.elems());
}

StmtRef ResultBoxes::open() {
  const auto pending = static_cast<int>(panel_.boxes - 1);
  return b_.block({by_first_item(b_, b_.store_sync({kernel::StoreStep::Wait, pending})),
                   b_.barrier({.items = kernel::kWarpItems})});
}

StmtRef ResultBoxes::put(std::int64_t box, ExprRef row, std::int64_t apart, ExprRef along,
                         ExprRef results) {
  const ExprRef first = b_.add(first_of(box), b_.mul(row, panel_.columns));
  const ExprRef stands = run_in_row(b_, panel_.elem_bytes, panel_.columns, row, apart, along);
  return b_.store(buffer_, b_.add(first, stands), results);
}

StmtRef ResultBoxes::send(std::int64_t box, ExprRef row, ExprRef column) {
  kernel::TensorStore store{.map = map_, .at = {column}, .from = {buffer_, first_of(box)}};
  const std::vector<ExprRef> points =
      digits_of(b_, row, {lies_.dims.rbegin(), lies_.dims.rend() - 1});
  store.at.insert(store.at.end(), points.rbegin(), points.rend());
  return b_.block({b_.store_sync({kernel::StoreStep::Fence}),
                   b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item(b_, b_.block({b_.tensor_store(std::move(store)),
                                               b_.store_sync({kernel::StoreStep::Commit})}))});
}

StmtRef ResultBoxes::end() {
  return by_first_item(b_, b_.store_sync({kernel::StoreStep::Wait, 0}));
}

using kernel::MbarrierOp;

WgmmaAhead::WgmmaAhead(Context &cx)
    : GemmPart(cx), ring_(ahead_ring(cx.gemm())), turns_(cx.schedule.roles.math.instances) {
  for (const schedule::AheadOperand &operand : ahead_operands(cx.gemm())) {
    const kernel::MapId map = declare_map(cx, operand, fmt::format("ahead_map_{}", operand.extra),
                                          cx.slot_buffers[cx.nest.extras[at(operand.extra)].slot],
                                          operand.columns * operand.elem_bytes);
    const BufferId buffer = declare_local(cx, schedule::LocalUse::Operand, operand.extra);
    sources_.push_back({operand, map, buffer});
  }
  barriers_ = declare_local(cx, schedule::LocalUse::OperandBarriers);
  place_ = register_buffer(b_, "ahead_place", {DType::I32, 1}, 1);
}

StmtRef WgmmaAhead::init() const {
  const std::int64_t warps = tile_.warps() * schedule::kGroupWarps;
  Stmts list;
  for (std::int64_t i = 0; i < ring_.full + ring_.stages; ++i)
    list.push_back(b_.mbarrier(
        {MbarrierOp::Init, {barriers_, b_.integer(i)}, b_.integer(i < ring_.full ? 1 : warps)}));
  return b_.block(std::move(list));
}

// Known at once where tiles take whole rounds.
ExprRef WgmmaAhead::place_of(std::int64_t piece, std::int64_t count) const {
  if (ring_.pieces % count == 0)
    return b_.integer(piece % count);
  return b_.mod(b_.add(b_.mul(passed(), ring_.pieces), piece), count);
}

ExprRef WgmmaAhead::phase_of(std::int64_t piece, std::int64_t count) const {
  if (count % ring_.pieces == 0)
    return b_.mod(b_.div(passed(), count / ring_.pieces), 2);
  return b_.mod(b_.div(b_.add(b_.mul(passed(), ring_.pieces), piece), count), 2);
}

// The panels of an operand's piece, where tiles stand.
void WgmmaAhead::copy(const Source &source, const WgmmaTiles &tiles, std::int64_t piece,
                      Stmts &list) const {
  Positions at = cx_.origin;
  if (tiles.box().indices.empty())
    at[roles_.pixels.back()] = tiles.first_row();
  std::int64_t panel = 0;
  for (std::int64_t group = 0; group < tile_.columns; group += tile_.warp_columns)
    for (std::int64_t inside = 0; inside < ring_.columns; inside += source.operand.columns) {
      kernel::TensorCopy copy{
          .to = {source.buffer, b_.add(b_.mul(buffer_of(piece), ring_.elems),
                                       panel++ * source.operand.columns * tile_.rows)},
          .map = source.map,
          .signals = full(piece)};
      at[roles_.channel] = b_.add(tiles.first_column(), group + piece * ring_.columns + inside);
      for (const nest::Linear &place : source.operand.place)
        copy.at.push_back(linear(cx_, place, at));
      list.push_back(b_.tensor_copy(std::move(copy)));
    }
}

StmtRef WgmmaAhead::copy_tile(const WgmmaTiles &tiles) const {
  std::int64_t bytes = 0;
  for (const Source &source : sources_)
    bytes += ring_.elems * source.operand.elem_bytes;
  Stmts list;
  for (std::int64_t piece = 0; piece < ring_.pieces; ++piece) {
    const ExprRef phase = b_.sub(1, phase_of(piece, ring_.stages));
    list.push_back(b_.mbarrier({MbarrierOp::Wait, empty(piece), phase}));
    list.push_back(b_.mbarrier({MbarrierOp::Expect, full(piece), b_.integer(bytes)}));
    for (const Source &source : sources_)
      copy(source, tiles, piece, list);
  }
  list.push_back(start(b_.add(passed(), 1)));
  return b_.block(std::move(list));
}

StmtRef WgmmaAhead::produce(WgmmaTiles &tiles) const {
  const StmtRef all = tiles.each(nullptr, [&](ExprRef tile, Stmts &list) {
    tiles.take_apart(tile, list);
    list.push_back(copy_tile(tiles));
  });
  return b_.block({b_.await_earlier(), start(b_.integer(0)), all});
}

StmtRef WgmmaAhead::wait(std::int64_t piece) const {
  return b_.mbarrier({MbarrierOp::Wait, full(piece), phase_of(piece, ring_.full)});
}

StmtRef WgmmaAhead::let_go(std::int64_t piece) const {
  return b_.block({b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item(b_, b_.mbarrier({MbarrierOp::Arrive, empty(piece)}))});
}

StmtRef WgmmaAhead::next(std::int64_t piece) const {
  return b_.block({let_go(piece), wait(piece + 1)});
}

StmtRef WgmmaAhead::pass() const {
  Stmts list;
  for (std::int64_t piece = 0; piece + 1 < ring_.pieces; ++piece)
    list.push_back(next(piece));
  return b_.block(std::move(list));
}

StmtRef WgmmaAhead::end() const {
  return b_.block({let_go(ring_.pieces - 1), start(b_.add(passed(), turns_))});
}

void WgmmaAhead::place(ExprRef row, ExprRef column, ExprRef along, Stmts &list) {
  row_ = named(b_, list, "ahead_row", row);
  along_ = named(b_, list, "ahead_along", along);
  group_ = b_.mul(b_.div(column, ring_.pieces), tile_.rows);
}

void WgmmaAhead::open(std::int64_t piece, Stmts &list) {
  const std::int64_t columns = sources_.front().operand.columns; // equal in all
  const ExprRef group = b_.add(b_.mul(buffer_of(piece), ring_.elems), group_);
  first_ = named(b_, list, "ahead_first", b_.add(group, b_.mul(row_, columns)));
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
    const std::int64_t further =
        rows * operand.columns + (columns % ring_.columns - inside) * tile_.rows;
    return b_.load(source.buffer, b_.add(b_.add(first_, stands), further), lanes);
  }
  return nullptr;
}

} // namespace tilefuse::lower
