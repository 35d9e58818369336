// SPDX-License-Identifier: Apache-2.0
#include "lower/build_wgmma.h"

#include <optional>

#include "lower/members.h"
#include "lower/pipeline.h"
#include "lower/wgmma_join.h"
#include "lower/wgmma_map.h"
#include "lower/wgmma_producer.h"
#include "lower/wgmma_store.h"

namespace tilefuse::lower {
namespace {

using kernel::BufferId;
using kernel::ExprRef;
using kernel::MbarrierOp;
using kernel::StmtRef;

constexpr std::int64_t kGroupRows = 64; // of one wgmma
constexpr std::int64_t kStepBytes = 32; // of depth, by one
using schedule::kPanelBytes;

class WgmmaLoops {
public:
  explicit WgmmaLoops(Context &context)
      : cx_(context), b_(cx_.build), core_(cx_.schedule.core),
        roles_(core_roles(cx_.nest, cx_.schedule)), tile_(core_tile(cx_.nest, cx_.schedule)),
        plan_(column_plan(cx_.nest, cx_.schedule)), cluster_(b_, core_),
        tiles_(cx_, roles_, tile_, plan_, cluster_),
        row_bytes_(ring_row_bytes(cx_.nest, cx_.schedule)),
        feeds_(core_feeds(cx_.members.group, cx_.schedule)),
        ring_(cx_, roles_, tile_, cluster_, feeds_), join_(cx_, tile_, cluster_, tiles_.most()) {}

  StmtRef build();

private:
  using List = std::vector<StmtRef>;
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  ExprRef less(ExprRef a, ExprRef b) { return b_.scalar(ScalarOp::Lt, {a, b}); }
  StmtRef consume();
  bool has_neighbours() const { return roles_.has_blocks() && tiles_.box().sizes.front() > 1; }
  // Elements from a neighbour's block to the next one's.
  std::int64_t block_step() const {
    return row_blocks(cx_.nest, cx_.schedule).step * kStepBytes / tile_.elem_bytes;
  }
  std::int64_t depth_at(int input, std::int64_t k) const;
  ExprRef group_data();
  StmtRef multiply(ExprRef step);

  Context &cx_;
  kernel::Builder &b_;
  const schedule::Core &core_;
  const schedule::CoreRoles roles_;
  const schedule::CoreTile tile_;
  const schedule::ColumnPlan plan_;
  const WgmmaCluster cluster_;
  WgmmaTiles tiles_;
  std::optional<ResultBoxes> boxes_; // where results leave in boxes
  const std::int64_t row_bytes_;     // in the ring
  const std::vector<schedule::CoreFeed> feeds_;
  WgmmaRing ring_;
  const WgmmaJoin join_;
  BufferId acc_{-1};
  ExprRef group_row_{}, group_column_{}; // of four warps, in the tile
};

// Of 32 bytes of an input's depth from the group's first row or column on, in a buffer of the ring.
std::int64_t WgmmaLoops::depth_at(int input, std::int64_t k) const {
  const std::int64_t step = kStepBytes / tile_.elem_bytes;
  if (roles_.is_turned(input))
    return k * step * kPanelBytes / tile_.elem_bytes;
  const std::int64_t row = row_bytes_ / kStepBytes; // steps
  const std::int64_t panel = roles_.has_blocks() && input == roles_.data ? 1 : row;
  const std::int64_t rows = input == roles_.data ? tile_.rows * tile_.spread : tile_.columns;
  return (k / panel * rows * panel + k % panel) * step;
}

// The group's first row in a buffer of the ring; in blocks 64 rows are a neighbour's.
ExprRef WgmmaLoops::group_data() {
  return has_neighbours() ? b_.mul(b_.div(group_row_, integer(kGroupRows)), integer(block_step()))
                          : b_.mul(group_row_, integer(row_bytes_ / tile_.elem_bytes));
}

StmtRef WgmmaLoops::multiply(ExprRef step) {
  const std::int64_t row = row_bytes_ / tile_.elem_bytes;
  const std::int64_t across = kPanelBytes / tile_.elem_bytes;
  const auto panel = [&](int input) { return roles_.is_turned(input) ? tile_.depth * across : 0; };
  const std::int64_t values = core_.op->d.values();
  const std::int64_t apart = has_neighbours() ? block_step() : kGroupRows * row;
  List list;
  const ExprRef data =
      named(b_, list, "data_tile",
            b_.add(b_.mul(ring_.slot(), integer(ring_.data_elems())), group_data()));
  const ExprRef filter = named(b_, list, "filter_tile",
                               b_.add(b_.mul(ring_.slot(), integer(ring_.filter_elems())),
                                      b_.mul(group_column_, integer(row))));
  list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Fence}));
  const auto side = [&](int input, std::int64_t block, std::int64_t k) {
    const bool is_data = input == roles_.data;
    const std::int64_t away = (is_data ? apart : kGroupRows * row) * block + depth_at(input, k);
    return kernel::LocalRef{is_data ? ring_.data() : ring_.filter(),
                            b_.add(is_data ? data : filter, integer(away))};
  };
  // The instruction's rows, in blocks of 64, and its columns.
  const int above = core_.swapped ? roles_.filter : roles_.data;
  const int along = core_.swapped ? roles_.data : roles_.filter;
  const std::int64_t rows = core_.swapped ? tile_.warp_columns : tile_.warp_rows;
  for (std::int64_t i = 0; i < rows / kGroupRows; ++i)
    for (std::int64_t k = 0; k < tile_.row_bytes() / kStepBytes; ++k)
      list.push_back(b_.wgmma({.op = core_.op,
                               .acc = {acc_, integer(i * values)},
                               .a = side(above, i, k),
                               .b = side(along, 0, k),
                               .row_bytes = static_cast<int>(row_bytes_),
                               .a_panel = panel(above),
                               .b_panel = panel(along),
                               .accumulate = k > 0 ? nullptr : less(integer(0), step)}));
  list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Commit}));
  return b_.block(std::move(list));
}

StmtRef WgmmaLoops::consume() {
  const std::int64_t steps = core_steps(cx_.nest, cx_.schedule);
  const bool takes_turns = core_.turns > 1;
  List all;
  const ExprRef group = b_.sub(b_.div(b_.lane(), integer(schedule::kGroupItems)), integer(1));
  const ExprRef turn = takes_turns ? named(b_, all, "turn", group) : nullptr;
  const ExprRef inside = takes_turns ? integer(0) : group;
  const ExprRef across = integer(core_.warp_columns);
  group_row_ =
      named(b_, all, "group_row", b_.mul(b_.div(inside, across), integer(tile_.warp_rows)));
  group_column_ =
      named(b_, all, "group_column", b_.mul(b_.mod(inside, across), integer(tile_.warp_columns)));
  all.push_back(takes_turns ? ring_.start_turn(turn, steps) : ring_.start(0));
  all.push_back(join_.start());
  all.push_back(tiles_.each(turn, [&](ExprRef tile, List &list) {
    if (takes_turns)
      list.push_back(ring_.wait_turn(turn));
    const kernel::VarId step = b_.variable("step", {});
    const ExprRef is_later = less(integer(0), b_.var(step));
    const StmtRef body =
        b_.block({ring_.wait(), multiply(b_.var(step)), b_.wgmma_sync({kernel::WgmmaStep::Wait, 1}),
                  b_.branch(is_later, ring_.let_go()), ring_.advance()});
    list.push_back(
        b_.loop(step, kernel::ForKind::Serial, integer(0), cluster_.step_count(steps), 1, body));
    if (takes_turns)
      list.push_back(ring_.end_turn(turn));
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 0}));
    list.push_back(ring_.let_go());
    if (takes_turns)
      list.push_back(ring_.skip(steps));
    list.push_back(join_.join(acc_));
    tiles_.take_apart(tile, list); // no sooner: accumulators leave few registers
    const schedule::CoreTile slice = join_.slice();
    const StmtRef store = store_wgmma(
        cx_, roles_, slice, plan_,
        {.acc = acc_,
         .box = tiles_.box(),
         .first_row = b_.add(b_.add(tiles_.first_row(), group_row_), join_.row()),
         .first_column = b_.add(b_.add(tiles_.first_column(), group_column_), join_.column()),
         .boxes = boxes_ ? &*boxes_ : nullptr,
         .halves = join_.halves()});
    const ExprRef exists = tiles_.exists();
    list.push_back(exists == nullptr ? store : b_.branch(exists, store));
  }));
  if (boxes_)
    all.push_back(boxes_->end());
  return b_.block(std::move(all));
}

StmtRef WgmmaLoops::build() {
  if (core_.tensor_store)
    boxes_.emplace(cx_, roles_);
  acc_ = b_.buffer({.name = "acc",
                    .space = kernel::Space::Register,
                    .type = {core_.op->d.type, 1},
                    .elems = tile_.warp_rows * tile_.warp_columns / schedule::kGroupItems});
  const ExprRef is_first = b_.scalar(ScalarOp::Eq, {b_.lane(), integer(0)});
  const schedule::RegisterPlan plan = register_plan(cx_.schedule);
  List producer, consumer;
  if (plan.producer > 0) {
    producer.push_back(b_.register_limit({false, plan.producer}));
    consumer.push_back(b_.register_limit({true, plan.consumer}));
  }
  const WgmmaParts parts{roles_, tile_, plan_, cluster_, tiles_, ring_, feeds_};
  producer.push_back(b_.branch(is_first, produce_wgmma(cx_, parts)));
  consumer.push_back(consume());
  const StmtRef others = multiply_or_map(cx_, parts, b_.block(std::move(consumer)));
  return b_.block({b_.branch(is_first, b_.block({ring_.init(), join_.init()})), cluster_.barrier(),
                   b_.branch(less(b_.lane(), integer(schedule::kGroupItems)),
                             b_.block(std::move(producer)), others),
                   cluster_.size() > 1 ? cluster_.barrier() : nullptr});
}

} // namespace

kernel::Kernel build_wgmma(const poly::Group &group, const schedule::Schedule &schedule,
                           const Target &target) {
  return group_kernel(group, schedule, target,
                      [](Members &members) { return WgmmaLoops(members.contexts[0]).build(); });
}

} // namespace tilefuse::lower
