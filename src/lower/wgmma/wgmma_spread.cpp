// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_spread.h"

#include "lower/wgmma/spread_window.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::MbarrierOp;
using kernel::StmtRef;

kernel::StmtRef spread_data(Context &context, const WgmmaParts &parts, poly::MemberId producer) {
  kernel::Builder &b = context.build;
  const WgmmaRing &ring = parts.data_ring;
  SpreadWindow window(context, parts, producer);
  const ExprRef item = b.mod(b.lane(), b.integer(kCoreLanes));
  std::vector<StmtRef> all = {ring.start(1)};
  window.declare(all);
  const auto read = [&](ExprRef tile, std::vector<StmtRef> &list) {
    parts.tiles.take_apart(tile, list);
    window.read(parts.tiles.first_points(), list);
  };
  read(parts.cluster.number(), all);
  all.push_back(parts.tiles.each(nullptr, [&](ExprRef tile, std::vector<StmtRef> &list) {
    const std::vector<ExprRef> chunks = window.converted(list);
    read(b.add(tile, b.integer(b.kernel().blocks)), list); // past the last tile: nothing it needs
    list.push_back(b.mbarrier({MbarrierOp::Wait, ring.empty(ring.slot()), ring.parity()}));
    window.write(chunks, ring.slot(), list);
    list.push_back(b.store_sync({kernel::StoreStep::Fence}));
    list.push_back(b.barrier({.items = kernel::kWarpItems}));
    list.push_back(b.branch(b.scalar(ScalarOp::Eq, {item, b.integer(0)}),
                            b.mbarrier({MbarrierOp::Arrive, ring.full(ring.slot())})));
    list.push_back(ring.advance());
  }));
  return b.block(std::move(all));
}

} // namespace tilefuse::lower
