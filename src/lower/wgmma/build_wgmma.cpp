// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/build_wgmma.h"

#include <optional>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/gemm_part.h"
#include "lower/mma/tile_store.h"
#include "lower/wgmma/wgmma_cluster.h"
#include "lower/wgmma/wgmma_fragments.h"
#include "lower/wgmma/wgmma_loads.h"
#include "lower/wgmma/wgmma_producer.h"
#include "lower/wgmma/wgmma_sums.h"
#include "lower/wgmma/wgmma_transform.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/tile_sums.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::lower {
namespace {

using schedule::kGroupRows;
using schedule::kStepBytes;

constexpr std::int64_t kAheadItem = 2 * kCoreLanes; // of the warp behind those that fill rings

class WgmmaLoops : GemmPart {
public:
  explicit WgmmaLoops(Context &context)
      : GemmPart(context), core_(cx_.schedule.core), cluster_(b_, cx_.schedule.tiles),
        tiles_(cx_, cluster_), pixel_bytes_(ring_row_bytes(cx_.gemm()) / cx_.gemm().row.used),
        ring_(cx_, cluster_, RingUse::Steps), in_window_(data_map(cx_.gemm()).row),
        join_(cx_, cluster_, tiles_.most()), above_(a_input(cx_.gemm())),
        along_(b_input(cx_.gemm())),
        blocks_((core_.swap_ab ? tile_.warp_columns : tile_.warp_rows) / kGroupRows) {
    if (halo_stages(cx_.schedule) > 0)
      windows_.emplace(cx_, cluster_, RingUse::Windows);
    if (a_in_registers(cx_.gemm()))
      fragments_.emplace(cx_, blocks_);
  }

  StmtRef build() {
    if (cx_.schedule.store == schedule::Store::Tma)
      boxes_.emplace(cx_);
    if (cx_.schedule.extra.stages > 0)
      ahead_.emplace(cx_);
    acc_ = register_buffer(b_, "acc", {core_.op->d.type, 1},
                           tile_.warp_rows * tile_.warp_columns / schedule::kGroupItems);
    const ExprRef is_first = b_.equal(b_.lane(), 0);
    const bool is_among_loads = ahead_ && has_loading_warps(cx_.schedule);
    const WgmmaParts parts{tiles_, ring_, data_ring(), is_among_loads ? &*ahead_ : nullptr};
    Stmts producer, consumer;
    if (cx_.schedule.roles.math.registers > 0) {
      const int given = schedule::launch_registers(cx_.schedule);
      producer.push_back(b_.register_limit(
          {cx_.schedule.roles.load.registers > given, cx_.schedule.roles.load.registers}));
      consumer.push_back(b_.register_limit(
          {cx_.schedule.roles.math.registers >= given, cx_.schedule.roles.math.registers}));
    }
    producer.push_back(deal_kept_filter(cx_, ring_)); // before its warps have other work
    producer.push_back(produce_wgmma(cx_, parts));
    if (ahead_ && !is_among_loads)
      producer.push_back(by_item(b_, kAheadItem, ahead_->produce(tiles_)));
    consumer.push_back(consume());
    const StmtRef others = b_.block(
        {b_.await_earlier(), multiply_or_transform(cx_, parts, b_.block(std::move(consumer)))});
    const StmtRef init = b_.block({ring_.init(), windows_ ? windows_->init() : nullptr,
                                   join_.init(), ahead_ ? ahead_->init() : nullptr});
    return b_.block({b_.branch(is_first, init), cluster_.barrier(),
                     b_.branch(b_.less(b_.lane(), schedule::kGroupItems),
                               b_.block(std::move(producer)), others),
                     cluster_.size() > 1 ? cluster_.barrier() : nullptr});
  }
  BufferId place() const { return ring_.place(); }

private:
  const WgmmaRing &data_ring() const { return windows_ ? *windows_ : ring_; }
  bool is_ordered() const { return multiplies_in_turn(cx_.schedule); }
  // Bytes and elements of the ring from a row of an input, or a pixel, to the next.
  std::int64_t row_bytes(int input) const {
    return input == roles_.data ? pixel_bytes_ : tile_.row_bytes();
  }
  std::int64_t row(int input) const { return row_bytes(input) / tile_.elem_bytes; }
  // Instructions read it in local memory by its own rows or columns, which nobody has turned.
  bool is_read_turned(int input) const {
    const bool is_fragment = input == above_ && fragments_;
    return roles_.is_turned(input) && !turns_in_ring(cx_.gemm(), input) && !is_fragment;
  }

  const schedule::Core &core_;
  const WgmmaCluster cluster_;
  WgmmaTiles tiles_;
  std::optional<ResultBoxes> boxes_; // where results leave in boxes
  const std::int64_t pixel_bytes_;   // of data in the ring, or a window
  WgmmaRing ring_;
  std::optional<WgmmaRing> windows_;
  const nest::Linear in_window_;     // the row of a window that a pixel of the box is for a tap
  std::vector<ExprRef> window_rows_; // at which instructions begin, but for the tap
  std::optional<WgmmaAhead> ahead_;
  const WgmmaJoin join_;
  const int above_, along_;                 // the inputs of a, the instruction's rows, and of b
  const std::int64_t blocks_;               // of 64 rows of a group
  std::optional<WgmmaFragments> fragments_; // where registers hold a
  BufferId acc_{-1};
  ExprRef group_row_{}, group_column_{}; // of four warps, in the tile

  // Of 32 bytes of an input's depth from the group's first row or column on, in a buffer of the ring.
  std::int64_t depth_at(int input, std::int64_t k) const {
    const std::int64_t step = kStepBytes / tile_.elem_bytes;
    if (is_read_turned(input))
      return k * step * panel_columns(cx_.gemm(), input);
    const bool are_panels = input == roles_.data && in_panels(roles_, cx_.schedule); // of a block
    return k * (are_panels ? data_ring().data_elems() * step / tile_.depth : step);
  }

  // Where the group's part of an input begins in its ring, or the tap's window.
  ExprRef tile_of(int input, const Positions &points) const {
    const ExprRef along = integer(row(input));
    if (input != roles_.data && cx_.gemm().halo.taps > 1)
      return b_.add(b_.mul(ring_.slot(), ring_.filter_elems()),
                    b_.mul(b_.div(group_column_, core_.op->n), halo_elems(cx_.gemm())));
    if (input != roles_.data)
      return b_.add(b_.mul(ring_.slot(), ring_.filter_elems()), b_.mul(group_column_, along));
    const ExprRef first = tiles_.first_of_row(points);
    const ExprRef begin =
        b_.add(b_.mul(data_ring().slot(), data_ring().data_elems()),
               b_.mul(windows_ ? linear(cx_, in_window_, points) : group_row_, along));
    return first == nullptr ? begin : b_.add(begin, b_.mul(first, kStepBytes / tile_.elem_bytes));
  }

  // The part of an instruction: of rows or pixels in blocks, and of 32 bytes of the depth.
  kernel::LocalRef side(int input, std::int64_t block, std::int64_t k, ExprRef tile) const {
    const ExprRef first = b_.add(tile, depth_at(input, k));
    if (windows_ && input == roles_.data)
      return {windows_->data(), b_.add(first, b_.mul(window_rows_[at(block)], row(input)))};
    return {input == roles_.data ? ring_.data() : ring_.filter(),
            b_.add(first, kGroupRows * row(input) * block)};
  }

  // Elements of an input's ring to the next panel, which in a window is the next tap; 0: rows.
  std::int64_t panel(int input) const {
    const schedule::StepHalo &halo = cx_.gemm().halo;
    const bool in_halo = input == roles_.filter && halo.taps > 1;
    const std::int64_t rows = in_halo ? halo.apart : tile_.depth;
    return is_read_turned(input) ? rows * panel_columns(cx_.gemm(), input) : 0;
  }

  int swizzle_bytes(int input) const {
    return static_cast<int>(is_read_turned(input)
                                ? panel_columns(cx_.gemm(), input) * tile_.elem_bytes
                                : row_bytes(input));
  }

  std::int64_t lines(int input) const {
    return windows_ && input == roles_.data ? window_lines(cx_.gemm()) * row(input) : 0;
  }

  // Multiplies block number `block` of the group's rows by its columns, 32 bytes of the depth.
  StmtRef multiply(std::int64_t block, std::int64_t k, kernel::LocalRef a, ExprRef along_tile,
                   ExprRef later) const {
    return b_.wgmma({.op = core_.op,
                     .acc = {acc_, integer(block * core_.op->d.values())},
                     .a = a,
                     .b = side(along_, 0, k, along_tile),
                     .a_row_bytes = swizzle_bytes(above_),
                     .b_row_bytes = swizzle_bytes(along_),
                     .a_panel = panel(above_),
                     .b_panel = panel(along_),
                     .a_lines = lines(above_),
                     .b_lines = lines(along_),
                     .accumulate = k > 0 ? nullptr : later});
  }

  // One step; `later`: it is not a tile's first. In a window the step's tap is that of `points`.
  // `release` lets go of what the step before has read.
  StmtRef multiply(ExprRef later, const Positions &points, StmtRef release) {
    Stmts list;
    const ExprRef data = named(b_, list, "data_tile", tile_of(roles_.data, points));
    const ExprRef filter = named(b_, list, "filter_tile", tile_of(roles_.filter, points));
    const ExprRef above = above_ == roles_.data ? data : filter;
    const ExprRef along = above_ == roles_.data ? filter : data;
    const std::int64_t depths = tile_.row_bytes() / kStepBytes;
    if (fragments_) {
      multiply_fragments({above_ == roles_.data ? ring_.data() : ring_.filter(), above}, along,
                         later, release, list);
      return b_.block(std::move(list));
    }
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Fence}));
    for (std::int64_t n = 0; n < depths * blocks_; ++n) {
      const std::int64_t k = core_.k_inner ? n % depths : n / blocks_;
      const std::int64_t i = core_.k_inner ? n / depths : n % blocks_;
      list.push_back(multiply(i, k, side(above_, i, k, above), along, later));
    }
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Commit}));
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 1}));
    list.push_back(release);
    return b_.block(std::move(list));
  }

  // The same with a in registers. All but the latest instructions end before fragments are loaded in
  // place of theirs: behind a step's first those of the step before have.
  void multiply_fragments(kernel::LocalRef above, ExprRef along, ExprRef later, StmtRef release,
                          Stmts &list) {
    for (std::int64_t k = 0; k < tile_.row_bytes() / kStepBytes; ++k) {
      list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 1}));
      if (k == 1)
        list.push_back(release);
      list.push_back(fragments_->load(above, k));
      list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Fence}));
      for (std::int64_t i = 0; i < blocks_; ++i)
        list.push_back(multiply(i, k, fragments_->at(i, k), along, later));
      list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Commit}));
    }
  }

  // Until the buffers are full, and what the step before has read is let go of.
  StmtRef step(ExprRef later, const Positions &points, StmtRef windows) {
    const StmtRef release = has_resident(cx_.schedule) ? nullptr : b_.branch(later, ring_.let_go());
    return b_.block({ring_.wait(), multiply(later, points, release), windows, ring_.advance()});
  }

  StmtRef steps() {
    Positions points(cx_.nest.indices.size(), integer(0));
    if (!windows_) {
      const kernel::VarId number = b_.variable("step", {});
      const std::int64_t count = core_steps(cx_.gemm());
      Stmts list;
      if (first_of_row(cx_.gemm()))
        tiles_.take_step(b_.add(cluster_.first_step(count), b_.var(number)), points, list);
      list.push_back(step(b_.less(0, b_.var(number)), points, nullptr));
      return b_.loop(number, kernel::ForKind::Serial, 0, cluster_.step_count(count), 1,
                     b_.block(std::move(list)));
    }
    return tiles_.each_window(points, [&] {
      const StmtRef taps = tiles_.each_tap(points, [&] {
        ExprRef tap = integer(0);
        for (const IndexId i : roles_.walked)
          tap = b_.add(tap, points[i]);
        const ExprRef depth = points[roles_.depths.front()];
        const ExprRef is_next = b_.logical_and(b_.less(0, depth), b_.less(tap, 1));
        return step(b_.less(0, b_.add(depth, tap)), points, b_.branch(is_next, windows_->let_go()));
      });
      return b_.block({windows_->wait(), taps, windows_->advance()});
    });
  }

  // Groups in turn multiply one behind the other, but where the filter is kept: at once.
  StmtRef start(ExprRef turn) const {
    return b_.block(
        {has_resident(cx_.schedule) ? nullptr : ring_.start_turn(turn, core_steps(cx_.gemm())),
         windows_ ? windows_->start_turn(turn, windows_of_tile(cx_.gemm())) : nullptr});
  }

  void end(ExprRef turn, Stmts &list) const {
    if (is_ordered())
      list.push_back(ring_.end_turn(turn));
    if (ahead_)
      list.push_back(ahead_->wait()); // no later, so that others are read while the sums end
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 0}));
    if (!has_resident(cx_.schedule))
      list.push_back(ring_.let_go());
    if (windows_)
      list.push_back(windows_->let_go());
    if (is_ordered())
      list.push_back(ring_.skip(core_steps(cx_.gemm())));
    if (windows_ && cx_.schedule.roles.math.instances > 1)
      list.push_back(windows_->skip(windows_of_tile(cx_.gemm())));
  }

  // Names where instructions begin in a window that multiply the group's pixels of the box.
  void place_in_window(Stmts &list) {
    const schedule::PixelBox box = windows_ ? pixel_box(cx_.gemm()) : schedule::PixelBox{};
    const std::int64_t unit = schedule::window_unit(cx_.schedule);
    for (std::int64_t pixel = 0; windows_ && pixel < tile_.warp_rows; pixel += unit) {
      const std::vector<ExprRef> digits = digits_of(b_, b_.add(group_row_, pixel), box.sizes);
      ExprRef row = integer(0);
      for (std::size_t i = box.indices.size(); i-- > 0;)
        row = b_.add(row, b_.mul(digits[i], in_window_.coeff[box.indices[i]]));
      window_rows_.push_back(named(b_, list, "window_row", row));
    }
  }

  StmtRef consume() {
    Stmts all;
    const ExprRef group = b_.sub(b_.div(b_.lane(), schedule::kGroupItems), 1);
    const ExprRef turn =
        cx_.schedule.roles.math.instances > 1 ? named(b_, all, "turn", group) : integer(0);
    const ExprRef inside = cx_.schedule.roles.math.instances > 1 ? integer(0) : group;
    const ExprRef across = integer(core_.warp_columns);
    group_row_ = named(b_, all, "group_row", b_.mul(b_.div(inside, across), tile_.warp_rows));
    group_column_ =
        named(b_, all, "group_column", b_.mul(b_.mod(inside, across), tile_.warp_columns));
    place_in_window(all);
    if (fragments_)
      fragments_->place(all);
    all.push_back(start(turn));
    all.push_back(b_.branch(b_.less(0, turn), ring_.wait_dealt()));
    all.push_back(join_.start());
    if (ahead_)
      all.push_back(ahead_->start(turn));
    all.push_back(tiles_.each(turn, [&](ExprRef tile, Stmts &list) {
      if (is_ordered())
        list.push_back(ring_.wait_turn(turn));
      if (has_resident(cx_.schedule))
        list.push_back(ring_.start(0));
      list.push_back(steps());
      end(turn, list);
      list.push_back(join_.join(acc_));
      tiles_.take_apart(tile, list); // no sooner: accumulators leave few registers
      const ExprRef warp = b_.sub(b_.div(b_.lane(), kCoreLanes), schedule::kGroupWarps);
      TileEnd tile_end{.tile = join_.slice(),
                       .acc = acc_,
                       .warp = warp,
                       .first_row = b_.add(b_.add(tiles_.first_row(), group_row_), join_.row()),
                       .first_column =
                           b_.add(b_.add(tiles_.first_column(), group_column_), join_.column()),
                       .tiles = &tiles_,
                       .boxes = boxes_ ? &*boxes_ : nullptr,
                       .ahead = ahead_ ? &*ahead_ : nullptr,
                       .turn = turn,
                       .tile_row = group_row_,
                       .tile_column = group_column_,
                       .halves = join_.halves(),
                       .keeps = !cx_.members.group.sums.empty() && keeps_results(cx_.gemm())};
      const Positions at_tile = cx_.origin;
      TileSums sums(cx_, tile_end);
      tile_end.sums = [&](std::int64_t piece) { return sums.add(piece); };
      const StmtRef results = store_tile(cx_, tile_end);
      cx_.origin = at_tile;
      const StmtRef stored = b_.block({results, sums.join()});
      list.push_back(b_.branch(tiles_.exists(), stored, ahead_ ? ahead_->pass() : nullptr));
      list.push_back(ahead_ ? ahead_->end() : nullptr);
    }));
    if (boxes_)
      all.push_back(boxes_->end());
    return b_.block(std::move(all));
  }
};

} // namespace

WgmmaKernel build_wgmma(const poly::Group &group, const schedule::Schedule &schedule,
                        const Target &target) {
  WgmmaKernel built;
  built.kernel = group_kernel(group, schedule, target, [&](Members &members) {
    WgmmaLoops loops(members.contexts[0]);
    built.place = loops.place();
    return loops.build();
  });
  return built;
}

} // namespace tilefuse::lower
