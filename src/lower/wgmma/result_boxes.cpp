// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/result_boxes.h"

#include "base/index.h"
#include "lower/members.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

namespace {

constexpr std::int64_t kGroupWarps = schedule::kGroupItems / kCoreLanes;
constexpr std::int64_t kChunkBytes = 16;

} // namespace

ResultBoxes::ResultBoxes(Context &cx)
    : cx_(cx), b_(cx.build), panel_(schedule::store_panel(cx.gemm())),
      lies_(schedule::result_map(cx.gemm())) {
  const auto slot = at(cx.nest.out.slot);
  map_ = b_.tensor_map({.name = "result_map",
                        .tensor = cx.slot_buffers[slot],
                        .offset = lies_.offset,
                        .dims = lies_.dims,
                        .strides = lies_.strides,
                        .box = {panel_.columns, panel_.rows},
                        .lower = lies_.lower,
                        .upper = lies_.upper,
                        .steps = lies_.steps,
                        .swizzle = static_cast<int>(panel_.row_bytes())});
  buffer_ = declare_local(cx, schedule::LocalUse::Boxes);
}

void ResultBoxes::place_warp(std::vector<StmtRef> &list) {
  const ExprRef warp = b_.sub(b_.div(b_.lane(), b_.integer(kCoreLanes)), b_.integer(kGroupWarps));
  first_ = named(b_, list, "boxes_first", b_.mul(warp, b_.integer(panel_.boxes * panel_.elems())));
}

ExprRef ResultBoxes::first_of(std::int64_t box) {
  return b_.add(first_, b_.integer(box % panel_.boxes * panel_.elems()));
}

StmtRef ResultBoxes::by_first_item(std::vector<StmtRef> list) {
  const ExprRef item = b_.mod(b_.lane(), b_.integer(kCoreLanes));
  return b_.branch(b_.scalar(ScalarOp::Eq, {item, b_.integer(0)}), b_.block(std::move(list)));
}

StmtRef ResultBoxes::open() {
  const auto pending = static_cast<int>(panel_.boxes - 1);
  return b_.block({by_first_item({b_.store_sync({kernel::StoreStep::Wait, pending})}),
                   b_.barrier({.items = kernel::kWarpItems})});
}

StmtRef ResultBoxes::put(std::int64_t box, ExprRef row, std::int64_t apart, ExprRef along,
                         ExprRef results) {
  const std::int64_t chunk = kChunkBytes / panel_.elem_bytes;
  const schedule::Swizzle swizzle = schedule::core_swizzle(panel_.row_bytes());
  const ExprRef bits =
      b_.mod(b_.div(row, b_.integer(swizzle.divisor)), b_.integer(swizzle.modulus));
  const ExprRef number = b_.add(b_.integer(apart / chunk), b_.div(along, b_.integer(chunk)));
  const ExprRef stands = b_.mul(b_.scalar(ScalarOp::BitXor, {number, bits}), b_.integer(chunk));
  const ExprRef first = b_.add(first_of(box), b_.mul(row, b_.integer(panel_.columns)));
  return b_.store(buffer_, b_.add(first, b_.add(stands, b_.mod(along, b_.integer(chunk)))),
                  results);
}

StmtRef ResultBoxes::send(std::int64_t box, ExprRef row, ExprRef column) {
  kernel::TensorStore store{.map = map_, .at = {column}, .from = {buffer_, first_of(box)}};
  for (std::size_t i = 0; i + 1 < lies_.pixels.size(); ++i) {
    const ExprRef extent = b_.integer(cx_.nest.indices[*lies_.pixels[i]].extent);
    store.at.push_back(b_.mod(row, extent));
    row = b_.div(row, extent);
  }
  store.at.push_back(row);
  return b_.block({b_.store_sync({kernel::StoreStep::Fence}),
                   b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item({b_.tensor_store(std::move(store)),
                                  b_.store_sync({kernel::StoreStep::Commit})})});
}

StmtRef ResultBoxes::end() { return by_first_item({b_.store_sync({kernel::StoreStep::Wait, 0})}); }

} // namespace tilefuse::lower
