// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/build_core.h"

#include <deque>
#include <utility>

#include "base/divide.h"
#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_copies.h"
#include "lower/mma/core_fetch.h"
#include "lower/mma/core_map.h"
#include "lower/mma/gemm_part.h"
#include "lower/mma/tile_store.h"
#include "nest/index.h"

namespace tilefuse::lower {
namespace {

using schedule::kCoreColumns;
using schedule::kCoreRows;
using schedule::kStepBytes;

class CoreLoops : GemmPart {
public:
  CoreLoops(Context &context, ExprRef number)
      : GemmPart(context), number_(number), core_(cx_.schedule.core),
        row_tiles_(tile_.warp_rows / kCoreRows), column_tiles_(tile_.warp_columns / kCoreColumns),
        walk_(cx_) {
    const auto add = [&](int input) {
      (input == roles_.data ? data_ : filter_) = &inputs_.emplace_back(cx_, input).side();
    };
    for (const schedule::CoreFeed &feed : cx_.members.resolved.feeds)
      if (feed_of(cx_, feed.input) != nullptr)
        add(feed.input);
    if (!inputs_.empty())
      behind_.emplace(cx_);
    for (const int input : {roles_.data, roles_.filter})
      if (feed_of(cx_, input) == nullptr)
        add(input);
  }

  StmtRef build() {
    take_block_apart();
    take_item_apart();
    body_.push_back(declare_sides());
    declare_registers();
    main_loop();
    const TileEnd end{.tile = tile_,
                      .acc = acc_,
                      .warp = warp_,
                      .first_row = b_.add(first_row_, warp_row_),
                      .first_column = b_.add(first_column_, warp_column_)};
    body_.push_back(store_tile(cx_, end));
    return b_.block(std::move(body_));
  }

private:
  ExprRef named(const std::string &name, ExprRef value) {
    return lower::named(b_, body_, name, value);
  }
  ExprRef slot(std::int64_t which) { return b_.load(slots_, which); }

  static constexpr std::int64_t kRead = 0; // buffers of the ring that are read and filled next
  static constexpr std::int64_t kFilled = 1;

  const ExprRef number_; // of the block
  const schedule::Core &core_;
  const std::int64_t row_tiles_;    // of a warp
  const std::int64_t column_tiles_; // of a warp
  std::deque<CoreInput> inputs_;    // those that maps feed first
  CoreSide *data_ = nullptr;
  CoreSide *filter_ = nullptr;
  CoreWalk walk_;
  std::optional<CoreWalk> behind_; // that maps follow
  Stmts body_;
  ExprRef first_row_{}, first_column_{}; // of the block: a pixel and a channel
  ExprRef warp_row_{}, warp_column_{};   // of the warp, in the block's tile
  ExprRef item_{}, warp_{};              // the item's number in its warp, and the warp's
  CorePlace data_place_, filter_place_;
  BufferId acc_{-1}, data_values_{-1}, filter_values_{-1}, slots_{-1};

  // Columns or rows change fastest (schedule::Raster).
  void take_block_apart() {
    ExprRef rest = number_;
    const std::int64_t columns = ceil_div(roles_.channel_points, tile_.columns);
    const std::int64_t rows = ceil_div(roles_.points, tile_.rows);
    const bool by_rows = cx_.schedule.tiles.raster == schedule::Raster::Rows;
    const ExprRef fast = take_digit(b_, rest, by_rows ? rows : columns);
    const ExprRef slow = take_digit(b_, rest, by_rows ? columns : rows);
    const ExprRef column = by_rows ? slow : fast;
    const ExprRef row = by_rows ? fast : slow;
    first_column_ = named("first_column", b_.mul(column, tile_.columns));
    first_row_ = named("first_row", b_.mul(row, tile_.rows));
    for (const IndexId i : roles_.grid)
      cx_.origin[i] =
          named("o_" + cx_.nest.indices[i].name, take_digit(b_, rest, extent(cx_.nest, i)));
  }

  void take_item_apart() {
    item_ = named("item", item_of_warp(b_));
    warp_ = named("warp", b_.div(b_.lane(), kCoreLanes));
    const ExprRef across = integer(core_.warp_columns);
    warp_row_ = named("warp_row", b_.mul(b_.div(warp_, across), tile_.warp_rows));
    warp_column_ = named("warp_column", b_.mul(b_.mod(warp_, across), tile_.warp_columns));
    data_place_ = core_place(b_, body_, *data_, item_, warp_row_);
    filter_place_ = core_place(b_, body_, *filter_, item_, warp_column_);
  }

  void declare_registers() {
    const CoreOp &op = *core_.op;
    acc_ = register_buffer(b_, "acc", {op.d.type, 1}, row_tiles_ * column_tiles_ * op.d.values());
    data_values_ = core_fragments(b_, *data_, op.a, row_tiles_);
    filter_values_ = core_fragments(b_, *filter_, op.b, column_tiles_);
    slots_ = register_buffer(b_, "slots", {DType::I32, 1}, 2);
    for (std::int64_t i = 0; i < b_.kernel()[acc_].elems; ++i)
      body_.push_back(b_.store(acc_, i, b_.real(0, {op.d.type, 1})));
  }

  StmtRef declare_sides() {
    Stmts list;
    for (CoreInput &input : inputs_)
      list.push_back(input.declare(&input.side() == data_ ? first_row_ : first_column_));
    return b_.block(std::move(list));
  }

  StmtRef start_copies(ExprRef to) {
    Stmts list;
    for (const CoreInput &input : inputs_)
      list.push_back(input.start(walk_.points(), to));
    list.push_back(walk_.advance());
    return b_.block(std::move(list));
  }

  // Of the inputs that no asynchronous copy brings: loads of a step, and their stores.
  StmtRef gather(ExprRef valid) {
    Stmts list;
    for (CoreSide *side : {data_, filter_})
      list.push_back(side->gathers() ? side->gather(walk_.points(), valid) : nullptr);
    return b_.block(std::move(list));
  }

  StmtRef put(ExprRef to) {
    Stmts list;
    for (const CoreSide *side : {data_, filter_})
      list.push_back(side->gathers() ? side->put(to) : nullptr);
    return b_.block(std::move(list));
  }

  // Each work-item on what it copied itself, which it need not wait for others to see.
  StmtRef evaluate_maps() {
    Stmts list;
    for (const CoreInput &input : inputs_)
      list.push_back(behind_ ? input.evaluate(behind_->points(), slot(kRead)) : nullptr);
    if (behind_)
      list.push_back(behind_->advance());
    return b_.block(std::move(list));
  }

  StmtRef next_slot(std::int64_t which) {
    const ExprRef next = b_.add(slot(which), 1);
    const ExprRef is_end = b_.equal(next, step_stages(cx_.schedule));
    return b_.store(slots_, which, b_.select(is_end, 0, next));
  }

  StmtRef multiply() {
    Stmts list;
    const ExprRef of_data = b_.mul(slot(kRead), data_->buffer_elems());
    const ExprRef of_filter = b_.mul(slot(kRead), filter_->buffer_elems());
    for (std::int64_t step = 0; step < tile_.row_bytes() / kStepBytes; ++step) {
      list.push_back(
          core_fetch_all(b_, *data_, data_place_, {0, step, of_data}, data_values_, row_tiles_));
      list.push_back(core_fetch_all(b_, *filter_, filter_place_, {0, step, of_filter},
                                    filter_values_, column_tiles_ / 2));
      for (std::int64_t i = 0; i < row_tiles_; ++i)
        for (std::int64_t j = 0; j < column_tiles_; ++j)
          list.push_back(
              b_.mma({.op = core_.op,
                      .acc = {acc_, integer((i * column_tiles_ + j) * core_.op->d.values())},
                      .a = {data_values_, core_fragment(b_, *data_, core_.op->a, i)},
                      .b = {filter_values_, core_fragment(b_, *filter_, core_.op->b, j)}}));
    }
    return b_.block(std::move(list));
  }

  void main_loop() {
    const std::int64_t steps = core_steps(cx_.gemm());
    body_.push_back(walk_.start());
    if (behind_)
      body_.push_back(behind_->start());
    body_.push_back(b_.store(slots_, kRead, 0));
    body_.push_back(b_.store(slots_, kFilled, step_stages(cx_.schedule) - 1));
    for (std::int64_t s = 0; s + 1 < step_stages(cx_.schedule); ++s) {
      if (s < steps) {
        body_.push_back(gather(nullptr));
        body_.push_back(put(integer(s)));
        body_.push_back(start_copies(integer(s)));
      }
      body_.push_back(b_.async_commit());
    }
    const kernel::VarId step = b_.variable("step", {});
    const ExprRef is_ahead = b_.less(b_.add(b_.var(step), step_stages(cx_.schedule) - 1), steps);
    const StmtRef gathered = gather(is_ahead);
    const StmtRef body =
        b_.block({b_.async_wait(step_stages(cx_.schedule) - 2), evaluate_maps(), b_.barrier(),
                  gathered, b_.branch(is_ahead, start_copies(slot(kFilled))), b_.async_commit(),
                  multiply(), put(slot(kFilled)), next_slot(kRead), next_slot(kFilled)});
    body_.push_back(b_.loop(step, kernel::ForKind::Serial, 0, steps, 1, body));
  }
};

} // namespace

kernel::Kernel build_core(const poly::Group &group, const schedule::Schedule &schedule,
                          const Target &target) {
  return group_kernel(group, schedule, target, [](Members &members) {
    const Context &cx = members.contexts[0];
    return core_product(cx, cx.build.block());
  });
}

StmtRef core_product(const Context &member, ExprRef number) {
  Context own = member;
  return CoreLoops(own, number).build();
}

} // namespace tilefuse::lower
