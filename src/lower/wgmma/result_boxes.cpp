// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/result_boxes.h"

#include "lower/expressions.h"
#include "lower/members.h"
#include "nest/index.h"

namespace tilefuse::lower {

ResultBoxes::ResultBoxes(Context &cx)
    : GemmPart(cx), panel_(schedule::store_panel(cx.gemm())),
      lies_(schedule::result_map(cx.gemm())) {
  schedule::TensorMap map = lies_;
  map.box = {panel_.columns, panel_.rows};
  map_ = declare_map(cx, map, "result_map", cx.slot_buffers[cx.nest.out.slot], panel_.row_bytes());
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
  for (std::size_t i = 0; i + 1 < lies_.pixels.size(); ++i) {
    const ExprRef points = b_.integer(extent(cx_.nest, *lies_.pixels[i]));
    store.at.push_back(b_.mod(row, points));
    row = b_.div(row, points);
  }
  store.at.push_back(row);
  return b_.block({b_.store_sync({kernel::StoreStep::Fence}),
                   b_.barrier({.items = kernel::kWarpItems}),
                   by_first_item(b_, b_.block({b_.tensor_store(std::move(store)),
                                               b_.store_sync({kernel::StoreStep::Commit})}))});
}

StmtRef ResultBoxes::end() {
  return by_first_item(b_, b_.store_sync({kernel::StoreStep::Wait, 0}));
}

} // namespace tilefuse::lower
