// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_deal.h"

#include "lower/expressions.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {
namespace {

constexpr std::int64_t kRun = 16;    // channels that are dealt together
constexpr int kChunk = 8;            // of one exchange of rows
constexpr std::int64_t kDealers = 2; // warps
constexpr std::int64_t kFirstItem = schedule::kGroupItems - kDealers * kCoreLanes;

// Runs of a buffer, one by each work-item at a time. In odd rows chunks lie the other way round.
StmtRef deal_buffer(kernel::Builder &b, const WgmmaRing &ring, BufferId run) {
  const std::int64_t of_row = schedule::kPanelBytes / size_bytes(b.kernel()[run].type.elem) / kRun;
  Stmts list;
  const ExprRef item = item_of_warp(b);
  const ExprRef turned = b.mul(b.mod(b.div(item, of_row), 2), kChunk);
  const ExprRef first = b.add(b.mul(ring.slot(), ring.filter_elems()), b.mul(item, kRun));
  const ExprRef low = named(b, list, "low", b.add(first, turned));
  const ExprRef high = named(b, list, "high", b.sub(b.add(first, kChunk), turned));
  for (std::int64_t i = 0; i < ring.filter_elems(); i += kCoreLanes * kRun) {
    const ExprRef left = b.add(low, i), right = b.add(high, i);
    list.push_back(b.store(run, 0, b.load(ring.filter(), left, kChunk)));
    list.push_back(b.store(run, kChunk, b.load(ring.filter(), right, kChunk)));
    list.push_back(b.store(ring.filter(), left, b.load(run, 0, kChunk, 2)));
    list.push_back(b.store(ring.filter(), right, b.load(run, 1, kChunk, 2)));
  }
  return b.block(std::move(list));
}

} // namespace

StmtRef deal_kept_filter(Context &context, const WgmmaRing &ring) {
  if (!deals_kept_filter(context.gemm()))
    return nullptr;
  kernel::Builder &b = context.build;
  const BufferId run = register_buffer(b, "run", {b.kernel()[ring.filter()].type.elem, 1}, kRun);
  Stmts list;
  const ExprRef dealer = named(b, list, "dealer", b.div(b.sub(b.lane(), kFirstItem), kCoreLanes));
  list.push_back(ring.start(0));
  list.push_back(b.branch(b.less(0, dealer), ring.advance()));
  const StmtRef step = b.block({ring.wait_full(), deal_buffer(b, ring, run), ring.say_ready(),
                                ring.advance(), ring.advance()});
  list.push_back(b.loop(b.variable("step", {}), kernel::ForKind::Serial, dealer,
                        step_stages(context.schedule), kDealers, step));
  return b.branch(b.scalar(ScalarOp::Le, {b.integer(kFirstItem), b.lane()}),
                  b.block(std::move(list)));
}

} // namespace tilefuse::lower
