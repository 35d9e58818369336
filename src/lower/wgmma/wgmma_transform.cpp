// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_transform.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/wgmma/transformed_steps.h"
#include "lower/wgmma/wgmma_map.h"
#include "schedule/wgmma/wgmma_registers.h"

namespace tilefuse::lower {

namespace {

constexpr int kSide = 4;                                  // elements of a square, and of a chunk
constexpr std::int64_t kRow = schedule::kPanelBytes / 4;  // elements of a panel's row, and its rows
constexpr std::int64_t kChunks = kRow / kSide;            // of a row
constexpr int kSquares = kChunks * kChunks / kCoreLanes;  // of a work-item
constexpr std::int64_t kElems = kSquares * kSide * kSide; // likewise, of a panel
constexpr std::int64_t kFarPoints = kRow / kSquares;      // of the depth, from square to square
static_assert(kSquares == 2);
constexpr std::int64_t kPhase = kChunks; // work-items whose chunks lie in all banks

class TurnedPanels : GemmPart {
public:
  TurnedPanels(Context &context, const WgmmaParts &parts)
      : GemmPart(context), tiles_(parts.tiles), ring_(parts.ring), steps_(cx_, ring_),
        together_(at(schedule::panels_together(cx_.schedule))),
        squares_(register_buffer(b_, "squares", {DType::F32, 1},
                                 static_cast<std::int64_t>(together_) * kElems)),
        deals_(turns_in_ring(cx_.gemm(), roles_.filter) &&
               cx_.gemm().run() == schedule::kDealtWords),
        deals_points_(schedule::deals_points(cx_.gemm())) {}

  StmtRef build(ExprRef item) {
    Stmts all;
    place(b_.mod(item, kCoreLanes), all);
    const ExprRef group = b_.mod(item, schedule::kGroupItems);
    warp_ = named(b_, all, "transform_warp", b_.div(group, kCoreLanes));
    all.push_back(steps_.start(item));
    all.push_back(tiles_.each(nullptr, [&](ExprRef, Stmts &list) {
      const std::int64_t steps = core_steps(cx_.gemm());
      list.push_back(b_.loop(b_.variable("step", {}), kernel::ForKind::Serial, 0,
                             tiles_.cluster().step_count(steps), 1, steps_.in_turn(step())));
    }));
    return b_.block(std::move(all));
  }

private:
  using Chunks = std::array<ExprRef, kSide>; // of a square: their elements in a panel

  WgmmaTiles &tiles_;
  const WgmmaRing &ring_;
  const TransformedSteps steps_;
  const std::size_t together_; // panels that a warp reads before it writes
  const BufferId squares_;
  const bool deals_, deals_points_; // channels of the filter; points of the depth
  Chunks from_{}, to_{}, dealt_{};  // of the first square
  ExprRef warp_{};

  // Work-item i + 8 s has the squares of 4 channels from 4 i and of 4 points of the depth, those of
  // chunk r(i) ^ s of a row, and of those 16 points away. r is i where a chunk's points are neighbours;
  // where they are dealt the bits of i go round, one way or the other, so that none meet in a bank.
  void place(ExprRef item, Stmts &list) {
    const ExprRef along = named(b_, list, "square", b_.mod(item, kPhase));
    const std::int64_t up = deals_ ? kPhase / 2 : 2;
    const ExprRef round =
        deals_points_ ? b_.add(b_.mul(b_.mod(along, kPhase / up), up), b_.div(along, kPhase / up))
                      : along;
    const ExprRef depth =
        named(b_, list, "square_depth", b_.scalar(ScalarOp::BitXor, {round, b_.div(item, kPhase)}));
    for (int i = 0; i < kSide; ++i) {
      from_[at(i)] = chunk(point(depth, i), along, list);
      to_[at(i)] = chunk(b_.add(b_.mul(along, kSide), i), depth, list);
      if (deals_)
        dealt_[at(i)] = chunk(dealt_row(along, i), depth, list);
    }
  }

  // Point number `i` of a chunk.
  ExprRef point(ExprRef chunk, int i) const {
    if (!deals_points_)
      return b_.add(b_.mul(chunk, kSide), i);
    return b_.add(b_.add(b_.mul(b_.div(chunk, 2), 2 * kSide), b_.mod(chunk, 2)), 2 * i);
  }

  // The element of chunk number `i` of all squares in a panel that begins at `first`: a bit tells the
  // second square's from the first's, so that registers hold the places of one.
  ExprRef element(ExprRef first, const Chunks &chunks, std::int64_t i, std::int64_t bit) const {
    const ExprRef of_first = b_.add(first, chunks[at(i % kSide)]);
    return i < kSide ? of_first : b_.scalar(ScalarOp::BitXor, {of_first, integer(bit)});
  }

  // Where a chunk of a row of a panel lies.
  ExprRef chunk(ExprRef row, ExprRef number, Stmts &list) const {
    const schedule::Swizzle swizzle = schedule::core_swizzle(schedule::kPanelBytes);
    return named(b_, list, "chunk",
                 b_.add(b_.mul(row, kRow), b_.mul(swizzled(b_, swizzle, number, row), kSide)));
  }

  // The row of channel number `i` of a square: as tensor copies deal rows of a straight filter for
  // work-items that store 4 neighbours (schedule/mma/core.h).
  ExprRef dealt_row(ExprRef square, int i) const {
    return b_.add(b_.add(b_.mul(b_.div(square, kSide), kSide * kSide),
                         b_.mul(b_.mod(square, kSide), schedule::kPairs)),
                  i / schedule::kPairs * schedule::kHalfRows + i % schedule::kPairs);
  }

  // A panel that a warp turns.
  struct Panel {
    BufferId tile{};
    const Chunks *to = nullptr; // where its chunks go
    ExprRef first{};            // its first element
    ExprRef exists{};           // null: every warp has one
  };

  // Panels are read whole before any of them is written.
  StmtRef turn(std::span<const Panel> panels) const {
    Stmts list;
    const auto each = [&](const auto &move) {
      for (std::size_t p = 0; p < panels.size(); ++p) {
        Stmts moves;
        for (std::int64_t i = 0; i < kSquares * kSide; ++i)
          moves.push_back(move(panels[p], p, i));
        const StmtRef all = b_.block(std::move(moves));
        list.push_back(panels[p].exists == nullptr ? all : b_.branch(panels[p].exists, all));
      }
    };
    const auto squares = [](std::size_t p) { return static_cast<std::int64_t>(p) * kElems; };
    each([&](const Panel &panel, std::size_t p, std::int64_t i) {
      const ExprRef from = element(panel.first, from_, i, kFarPoints * kRow);
      return b_.store(squares_, squares(p) + i * kSide, b_.load(panel.tile, from, kSide));
    });
    list.push_back(b_.barrier({.items = kernel::kWarpItems}));
    each([&](const Panel &panel, std::size_t p, std::int64_t i) {
      const std::int64_t first = squares(p) + i / kSide * kSide * kSide + i % kSide;
      return b_.store(panel.tile, element(panel.first, *panel.to, i, kFarPoints),
                      b_.load(squares_, first, kSide, kSide));
    });
    return b_.block(std::move(list));
  }

  // Appends this warp's panels of an input. Warps take panels in turn; `before` have been dealt out, of
  // the other input.
  void add_panels(int input, std::int64_t before, std::vector<Panel> &panels, Stmts &list) const {
    const std::int64_t warps = schedule::kGroupWarps;
    const std::int64_t count = ring_.elems(input) / (kRow * kRow);
    const ExprRef own = b_.mod(b_.add(warp_, (warps - before % warps) % warps), warps);
    for (std::int64_t i = 0; i < count; i += warps) {
      const ExprRef first =
          b_.add(b_.mul(ring_.slot(), ring_.elems(input)), b_.mul(b_.add(own, i), kRow * kRow));
      panels.push_back(
          {ring_.copied(input).front(), deals_ && input == roles_.filter ? &dealt_ : &to_,
           named(b_, list, "panel", first), count - i < warps ? b_.less(own, count - i) : nullptr});
    }
  }

  StmtRef step() const {
    Stmts list = {ring_.wait_full()};
    std::vector<Panel> panels;
    std::int64_t before = 0;
    for (const int input : {roles_.data, roles_.filter})
      if (turns_in_ring(cx_.gemm(), input)) {
        add_panels(input, before, panels, list);
        before += ring_.elems(input) / (kRow * kRow);
      }
    for (std::size_t i = 0; i < panels.size(); i += together_)
      list.push_back(turn(std::span(panels).subspan(i, std::min(together_, panels.size() - i))));
    list.push_back(ring_.say_ready());
    return b_.block(std::move(list));
  }
};

} // namespace

StmtRef multiply_or_transform(Context &cx, const WgmmaParts &parts, StmtRef multiply) {
  if (cx.schedule.roles.transform.groups == 0)
    return multiply;
  kernel::Builder &b = cx.build;
  const int registers = cx.schedule.roles.transform.registers;
  const ExprRef first =
      b.integer(cx.block_size() - cx.schedule.roles.transform.groups * schedule::kGroupItems);
  const ExprRef item = b.sub(b.lane(), first);
  Stmts list;
  if (registers > 0)
    list.push_back(
        b.register_limit({registers > schedule::launch_registers(cx.schedule), registers}));
  list.push_back(turns_in_ring(cx.gemm()) ? TurnedPanels(cx, parts).build(item)
                                          : map_tiles(cx, parts, item));
  return b.branch(b.less(b.lane(), first), multiply, b.block(std::move(list)));
}

} // namespace tilefuse::lower
