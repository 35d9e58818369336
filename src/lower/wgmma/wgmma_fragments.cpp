// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_fragments.h"

#include "base/index.h"
#include "lower/expressions.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

namespace {

constexpr std::int64_t kRow = schedule::kPanelBytes / 4; // elements of a panel's row, and its rows
constexpr std::int64_t kSide = 4;                        // elements of a chunk of 16 bytes
constexpr std::int64_t kPoints = schedule::kStepBytes / 4; // of an instruction

} // namespace

WgmmaFragments::WgmmaFragments(Context &context, std::int64_t blocks)
    : GemmPart(context), blocks_(blocks),
      fragments_(register_buffer(b_, "fragments", {cx_.gemm().core().op->a.type, 1},
                                 schedule::kFragmentSets * blocks * kValues)) {}

void WgmmaFragments::place(Stmts &list) {
  const Fragment &fragment = cx_.gemm().core().op->a;
  const schedule::Swizzle swizzle = schedule::core_swizzle(schedule::kPanelBytes);
  const ExprRef item = b_.mod(b_.lane(), kCoreLanes);
  const ExprRef warp = b_.mod(b_.div(b_.lane(), kCoreLanes), schedule::kGroupWarps);
  const ExprRef row = b_.add(b_.mul(warp, schedule::kCoreRows), b_.div(item, kSide));
  for (int value = 0; value < kValues; ++value) {
    const Place at = tilefuse::place(fragment, 0, value);
    const ExprRef row_of_value = b_.add(row, at.row);
    const ExprRef column = b_.add(b_.mod(item, kSide), at.column);
    const ExprRef point = schedule::deals_points(cx_.gemm())
                              ? b_.add(b_.mul(b_.mod(column, kSide), 2), b_.div(column, kSide))
                              : column;
    const ExprRef in_row = b_.mod(row_of_value, kRow);
    const ExprRef chunk = swizzled(b_, swizzle, b_.div(in_row, kSide), point);
    const ExprRef in_panel =
        b_.add(b_.add(b_.mul(point, kRow), b_.mul(chunk, kSide)), b_.mod(in_row, kSide));
    places_[tilefuse::at(value)] = named(
        b_, list, "fragment", b_.add(b_.mul(b_.div(row_of_value, kRow), kRow * kRow), in_panel));
  }
}

std::int64_t WgmmaFragments::first(std::int64_t block, std::int64_t k) const {
  return (k % schedule::kFragmentSets * blocks_ + block) * kValues;
}

StmtRef WgmmaFragments::load(kernel::LocalRef tile, std::int64_t k) const {
  Stmts list;
  for (std::int64_t block = 0; block < blocks_; ++block)
    for (int value = 0; value < kValues; ++value) {
      const std::int64_t further = block * schedule::kGroupRows * kRow + k * kPoints * kRow;
      const ExprRef from = b_.add(b_.add(tile.index, places_[tilefuse::at(value)]), further);
      list.push_back(b_.store(fragments_, first(block, k) + value, b_.load(tile.buffer, from)));
    }
  return b_.block(std::move(list));
}

kernel::LocalRef WgmmaFragments::at(std::int64_t block, std::int64_t k) const {
  return {fragments_, integer(first(block, k))};
}

} // namespace tilefuse::lower
