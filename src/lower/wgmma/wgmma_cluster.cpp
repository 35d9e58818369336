// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_cluster.h"

#include <algorithm>

#include "lower/expressions.h"
#include "lower/members.h"

namespace tilefuse::lower {

namespace {

// `mask` shifted left by `apart` bits for each of `number`, which is 0 or 1.
ExprRef shifted(kernel::Builder &b, std::int64_t mask, std::int64_t apart, ExprRef number) {
  const std::int64_t more = (mask << apart) - mask;
  return b.add(b.mul(number, more), mask);
}

} // namespace

ExprRef WgmmaCluster::share_data() const {
  const std::int64_t all = (std::int64_t{1} << columns_) - 1;
  return columns_ == 1 ? nullptr : shifted(b_, all, columns_, row());
}

ExprRef WgmmaCluster::share_filter() const {
  std::int64_t all = 0;
  for (std::int64_t row = 0; row < rows_; ++row)
    all |= std::int64_t{1} << row * columns_;
  return rows_ == 1 ? nullptr : shifted(b_, all, 1, column());
}

ExprRef WgmmaCluster::first_step(std::int64_t steps) const {
  return b_.div(b_.mul(part(), steps), parts_);
}

ExprRef WgmmaCluster::end_step(std::int64_t steps) const {
  const ExprRef next = b_.add(part(), 1);
  return b_.div(b_.mul(next, steps), parts_);
}

ExprRef WgmmaCluster::step_count(std::int64_t steps) const {
  return steps % parts_ == 0 ? b_.integer(steps / parts_)
                             : b_.sub(end_step(steps), first_step(steps));
}

// First this one and those of its column, then the others of its row, from the next on.
ExprRef WgmmaCluster::source(ExprRef number) const {
  const ExprRef down = b_.mod(b_.add(row(), number), rows_);
  const ExprRef in_column = b_.add(b_.mul(down, columns_), column());
  if (columns_ == 1)
    return in_column;
  const ExprRef after = b_.add(b_.sub(number, rows_ - 1), column());
  const ExprRef in_row = b_.add(b_.mul(row(), columns_), b_.mod(after, columns_));
  return b_.select(b_.less(number, rows_), in_column, in_row);
}

using kernel::MbarrierOp;
using schedule::kHalfRows;

namespace {

constexpr int kPair = 2;               // values that wgmma leaves in registers side by side
constexpr std::int64_t kInFlight = 32; // values that are read together; compilers would read all

} // namespace

WgmmaJoin::WgmmaJoin(Context &context, const WgmmaCluster &cluster, std::int64_t tiles)
    : GemmPart(context), cluster_(cluster), slices_(part_slices(cx_.schedule)),
      is_repeated_(tiles > 1), columns_(cx_.schedule.core.op->n),
      items_(tile_.warps() * schedule::kGroupItems),
      values_(tile_.rows * tile_.columns / items_ / cluster.parts()) {
  if (cluster_.parts() == 1)
    return;
  parts_ = declare_local(cx_, schedule::LocalUse::Parts);
  barriers_ = declare_local(cx_, schedule::LocalUse::PartBarriers);
  if (is_repeated_)
    phase_ = register_buffer(b_, "phase", {DType::I32, 1}, 1);
}

StmtRef WgmmaJoin::init() const {
  Stmts list;
  for (std::int64_t i = 0; cluster_.parts() > 1 && i < (is_repeated_ ? 2 : 1); ++i)
    list.push_back(b_.mbarrier({MbarrierOp::Init,
                                {barriers_, integer(i)},
                                integer(items_ / kCoreLanes * cluster_.parts())}));
  return b_.block(std::move(list));
}

StmtRef WgmmaJoin::start() const {
  return cluster_.parts() > 1 && is_repeated_ ? b_.store(phase_, 0, 0) : nullptr;
}

// The register that holds a slice's value: blocks of 64 rows slowest, then the rows 8 apart.
std::int64_t WgmmaJoin::accumulator(std::int64_t slice, std::int64_t value) const {
  const std::int64_t run = columns_ / 4 / slices_.columns;
  const std::int64_t of_half = columns_ / 4;
  const std::int64_t block = value / (halves() * run);
  const std::int64_t half = slices_.halves == 2 ? slice % 2 : value / run % 2;
  return (2 * block + half) * of_half + slice / slices_.halves * run + value % run;
}

// Once all of the warp has come: to every block of the cluster.
StmtRef WgmmaJoin::say(std::int64_t what) const {
  const ExprRef item = item_of_warp(b_);
  return b_.block(
      {b_.barrier({.items = kernel::kWarpItems}),
       b_.branch(b_.less(item, cluster_.parts()), b_.mbarrier({.op = MbarrierOp::Arrive,
                                                               .at = {barriers_, integer(what)},
                                                               .rank = item,
                                                               .for_cluster = true}))});
}

StmtRef WgmmaJoin::wait(std::int64_t what, ExprRef parity) const {
  return b_.mbarrier({.op = MbarrierOp::Wait,
                      .at = {barriers_, integer(what)},
                      .value = parity,
                      .for_cluster = true});
}

StmtRef WgmmaJoin::join(BufferId acc) const {
  if (cluster_.parts() == 1)
    return nullptr;
  Stmts list;
  const ExprRef phase = is_repeated_ ? b_.load(phase_, 0) : integer(0);
  const ExprRef item = b_.mul(b_.sub(b_.lane(), schedule::kGroupItems), kPair);
  const ExprRef own =
      named(b_, list, "joined", b_.add(b_.mul(cluster_.part(), values_ * items_), item));
  if (is_repeated_)
    list.push_back(wait(kTaken, b_.sub(1, phase)));
  for (std::int64_t slice = 0; slice < cluster_.parts(); ++slice)
    for (std::int64_t i = 0; i < values_; i += kPair)
      list.push_back(b_.store(parts_, b_.add(item, (slice * values_ + i) * items_),
                              b_.load(acc, accumulator(slice, i), kPair)));
  const std::int64_t together = std::max<std::int64_t>(1, kInFlight / (kPair * cluster_.parts()));
  list.push_back(say(kGiven));
  list.push_back(wait(kGiven, phase));
  for (std::int64_t i = 0; i < values_; i += kPair) {
    const ExprRef index = b_.add(own, i * items_);
    ExprRef sum = b_.remote_load(parts_, index, kPair, integer(0));
    for (std::int64_t part = 1; part < cluster_.parts(); ++part)
      sum = b_.add(sum, b_.remote_load(parts_, index, kPair, integer(part)));
    list.push_back(b_.store(acc, i, sum));
    if ((i / kPair + 1) % together == 0)
      list.push_back(b_.barrier({.items = kernel::kWarpItems}));
  }
  if (is_repeated_) {
    list.push_back(say(kTaken));
    list.push_back(b_.store(phase_, 0, b_.sub(1, phase)));
  }
  return b_.block(std::move(list));
}

schedule::CoreTile WgmmaJoin::slice() const {
  schedule::CoreTile tile = tile_;
  (cx_.schedule.core.swap_ab ? tile.warp_rows : tile.warp_columns) /= slices_.columns;
  return tile;
}

ExprRef WgmmaJoin::row() const {
  return cx_.schedule.core.swap_ab ? b_.mul(cluster_.part(), columns_ / slices_.columns)
                                   : b_.mul(b_.mod(cluster_.part(), slices_.halves), kHalfRows);
}

ExprRef WgmmaJoin::column() const {
  return cx_.schedule.core.swap_ab
             ? integer(0)
             : b_.mul(b_.div(cluster_.part(), slices_.halves), columns_ / slices_.columns);
}

} // namespace tilefuse::lower
