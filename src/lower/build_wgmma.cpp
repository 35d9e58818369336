// SPDX-License-Identifier: Apache-2.0
#include "lower/build_wgmma.h"

#include <functional>

#include "lower/members.h"
#include "lower/pipeline.h"
#include "lower/wgmma_ring.h"
#include "lower/wgmma_store.h"

namespace tilefuse::lower {
namespace {

using kernel::BufferId;
using kernel::ExprRef;
using kernel::MbarrierOp;
using kernel::StmtRef;

constexpr std::int64_t kGroupRows = 64; // of one wgmma
constexpr std::int64_t kStepBytes = 32; // of depth, by one
constexpr std::int64_t kPanelBytes = 128;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class WgmmaLoops {
public:
  explicit WgmmaLoops(Context &context)
      : cx_(context), b_(cx_.build), core_(cx_.schedule.core),
        roles_(core_roles(cx_.nest, cx_.schedule)), tile_(core_tile(cx_.nest, cx_.schedule)),
        data_(data_map(cx_.nest, cx_.schedule)), filter_(filter_map(cx_.nest, cx_.schedule)),
        ring_(cx_, roles_, tile_) {}

  StmtRef build();

private:
  using List = std::vector<StmtRef>;
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  std::int64_t extent(int i) const { return cx_.nest.indices[at(i)].extent; }
  ExprRef less(ExprRef a, ExprRef b) { return b_.scalar(ScalarOp::Lt, {a, b}); }
  void declare_maps();
  StmtRef each_tile(const std::function<void(List &)> &body);
  StmtRef produce();
  std::vector<ExprRef> data_base(List &list);
  StmtRef walk(std::size_t level, std::vector<ExprRef> &points, const std::vector<ExprRef> &base);
  StmtRef copy_step(const std::vector<ExprRef> &points, const std::vector<ExprRef> &base);
  StmtRef consume();
  StmtRef multiply(ExprRef step);
  StmtRef let_go();

  Context &cx_;
  kernel::Builder &b_;
  const schedule::Core &core_;
  const schedule::CoreRoles roles_;
  const schedule::CoreTile tile_;
  const schedule::DataMap data_;
  const schedule::FilterMap filter_;
  WgmmaRing ring_;
  kernel::MapId data_id_{}, filter_id_{};
  BufferId acc_{-1};
  ExprRef first_row_{}, first_column_{}; // of the tile
  ExprRef group_row_{}, group_column_{}; // of four warps, in the tile
};

void WgmmaLoops::declare_maps() {
  const int swizzle = static_cast<int>(tile_.row_bytes());
  kernel::TensorMap data{.name = "data_map",
                         .tensor = cx_.source_buffers[at(roles_.data)],
                         .offset = data_.offset,
                         .dims = data_.dims,
                         .strides = data_.strides,
                         .box = {tile_.depth, tile_.rows},
                         .lower = data_.lower,
                         .upper = data_.upper,
                         .steps = data_.steps,
                         .swizzle = swizzle};
  data_id_ = b_.tensor_map(std::move(data));
  filter_id_ = b_.tensor_map({.name = "filter_map",
                              .tensor = cx_.source_buffers[at(roles_.filter)],
                              .offset = filter_.offset,
                              .dims = filter_.dims,
                              .strides = filter_.strides,
                              .box = filter_.box,
                              .swizzle = swizzle});
}

// Every so many-th tile, columns fastest.
StmtRef WgmmaLoops::each_tile(const std::function<void(List &)> &body) {
  const std::int64_t columns = (extent(roles_.channel) + tile_.columns - 1) / tile_.columns;
  const kernel::VarId tile = b_.variable("tile", {});
  List list;
  const ExprRef column = b_.mod(b_.var(tile), integer(columns));
  const ExprRef row = b_.div(b_.var(tile), integer(columns));
  first_column_ = named(b_, list, "first_column", b_.mul(column, integer(tile_.columns)));
  first_row_ = named(b_, list, "first_row", b_.mul(row, integer(tile_.rows)));
  body(list);
  return b_.loop(tile, kernel::ForKind::Serial, b_.block(),
                 integer(wgmma_tiles(cx_.nest, cx_.schedule)), b_.kernel().blocks,
                 b_.block(std::move(list)));
}

// Coordinates of the tile's first point, those of the depth 0.
std::vector<ExprRef> WgmmaLoops::data_base(List &list) {
  if (!data_.is_im2col())
    return {integer(0), first_row_};
  std::vector<ExprRef> pixels(cx_.nest.indices.size(), integer(0));
  ExprRef rest = first_row_;
  for (auto i = roles_.pixels.rbegin(); i != roles_.pixels.rend(); ++i) {
    const bool is_last = i + 1 == roles_.pixels.rend();
    pixels[at(*i)] = named(b_, list, "p_" + cx_.nest.indices[at(*i)].name,
                           is_last ? rest : b_.mod(rest, integer(extent(*i))));
    rest = b_.div(rest, integer(extent(*i)));
  }
  std::vector<ExprRef> base{integer(0)};
  for (std::size_t d = 0; d < data_.pixels.size(); ++d) {
    const ExprRef pixel = data_.pixels[d] < 0 ? integer(0) : pixels[at(data_.pixels[d])];
    const bool is_batch = d == data_.steps.size();
    base.push_back(
        is_batch ? pixel
                 : named(b_, list, "base",
                         b_.add(b_.mul(pixel, integer(data_.steps[d])), integer(data_.lower[d]))));
  }
  return base;
}

StmtRef WgmmaLoops::copy_step(const std::vector<ExprRef> &points,
                              const std::vector<ExprRef> &base) {
  List list{b_.mbarrier({MbarrierOp::Wait, ring_.empty(ring_.slot()), ring_.parity()}),
            b_.mbarrier({MbarrierOp::Expect, ring_.full(ring_.slot()), integer(ring_.bytes())})};
  const kernel::LocalRef signals = ring_.full(ring_.slot());
  kernel::TensorCopy data{.to = {ring_.data(), b_.mul(ring_.slot(), integer(ring_.data_elems()))},
                          .map = data_id_,
                          .at = base,
                          .signals = signals};
  data.at[0] = points[at(roles_.depth())];
  for (const nest::Linear &tap : data_.taps)
    data.offsets.push_back(linear(cx_, tap, points));
  list.push_back(b_.tensor_copy(std::move(data)));
  const ExprRef filter = b_.mul(ring_.slot(), integer(ring_.filter_elems()));
  const std::int64_t panel = ring_.filter_elems() / filter_.panels;
  for (std::int64_t i = 0; i < filter_.panels; ++i) {
    kernel::TensorCopy copy{.to = {ring_.filter(), b_.add(filter, integer(i * panel))},
                            .map = filter_id_,
                            .signals = signals};
    std::vector<ExprRef> moved = points;
    moved[at(roles_.channel)] = b_.add(first_column_, integer(i * kPanelBytes / tile_.elem_bytes));
    copy.at.assign(filter_.dims.size(), integer(0));
    copy.at.front() = linear(cx_, filter_.first, moved);
    copy.at.back() = roles_.filter_turned ? points[at(roles_.depth())]
                                          : b_.div(first_column_, integer(filter_.unit));
    list.push_back(b_.tensor_copy(std::move(copy)));
  }
  list.push_back(ring_.advance());
  return b_.block(std::move(list));
}

// Loops over the walked indices, the depth innermost.
StmtRef WgmmaLoops::walk(std::size_t level, std::vector<ExprRef> &points,
                         const std::vector<ExprRef> &base) {
  const bool is_depth = level == roles_.walked.size();
  const int index = is_depth ? roles_.depth() : roles_.walked[level];
  const kernel::VarId var = b_.variable("v_" + cx_.nest.indices[at(index)].name, {});
  points[at(index)] = b_.var(var);
  const StmtRef body = is_depth ? copy_step(points, base) : walk(level + 1, points, base);
  return b_.loop(var, kernel::ForKind::Serial, integer(0), integer(extent(index)),
                 is_depth ? tile_.depth : 1, body);
}

StmtRef WgmmaLoops::produce() {
  const StmtRef tiles = each_tile([&](List &list) {
    const std::vector<ExprRef> base = data_base(list);
    std::vector<ExprRef> points(cx_.nest.indices.size(), integer(0));
    list.push_back(walk(0, points, base));
  });
  return b_.block({ring_.start(1), tiles});
}

// One work-item of each warp says that its warp has read the buffer before.
StmtRef WgmmaLoops::let_go() {
  const ExprRef is_first =
      b_.scalar(ScalarOp::Eq, {b_.mod(b_.lane(), integer(kCoreLanes)), integer(0)});
  return b_.branch(is_first, b_.mbarrier({MbarrierOp::Arrive, ring_.empty(ring_.before())}));
}

StmtRef WgmmaLoops::multiply(ExprRef step) {
  const std::int64_t row_bytes = tile_.row_bytes();
  const std::int64_t step_elems = kStepBytes / tile_.elem_bytes;
  const std::int64_t panel =
      roles_.filter_turned ? tile_.depth * kPanelBytes / tile_.elem_bytes : 0;
  const std::int64_t values = core_.op->d.values();
  List list;
  const ExprRef data = named(b_, list, "data_tile",
                             b_.add(b_.mul(ring_.slot(), integer(ring_.data_elems())),
                                    b_.mul(group_row_, integer(tile_.depth))));
  const ExprRef filter = named(b_, list, "filter_tile",
                               b_.add(b_.mul(ring_.slot(), integer(ring_.filter_elems())),
                                      b_.mul(group_column_, integer(tile_.depth))));
  list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Fence}));
  for (std::int64_t i = 0; i < tile_.warp_rows / kGroupRows; ++i)
    for (std::int64_t k = 0; k < row_bytes / kStepBytes; ++k) {
      const std::int64_t down =
          roles_.filter_turned ? k * step_elems * kPanelBytes / tile_.elem_bytes : k * step_elems;
      list.push_back(
          b_.wgmma({.op = core_.op,
                    .acc = {acc_, integer(i * values)},
                    .a = {ring_.data(),
                          b_.add(data, integer(i * kGroupRows * tile_.depth + k * step_elems))},
                    .b = {ring_.filter(), b_.add(filter, integer(down))},
                    .row_bytes = static_cast<int>(row_bytes),
                    .b_panel = panel,
                    .accumulate = k > 0 ? nullptr : less(integer(0), step)}));
    }
  list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Commit}));
  return b_.block(std::move(list));
}

StmtRef WgmmaLoops::consume() {
  const std::int64_t steps = core_steps(cx_.nest, cx_.schedule);
  List all;
  const ExprRef group = b_.sub(b_.div(b_.lane(), integer(schedule::kGroupItems)), integer(1));
  const ExprRef across = integer(core_.warp_columns);
  group_row_ = named(b_, all, "group_row", b_.mul(b_.div(group, across), integer(tile_.warp_rows)));
  group_column_ =
      named(b_, all, "group_column", b_.mul(b_.mod(group, across), integer(tile_.warp_columns)));
  all.push_back(ring_.start(0));
  all.push_back(each_tile([&](List &list) {
    const kernel::VarId step = b_.variable("step", {});
    const ExprRef is_later = less(integer(0), b_.var(step));
    const StmtRef body =
        b_.block({b_.mbarrier({MbarrierOp::Wait, ring_.full(ring_.slot()), ring_.parity()}),
                  multiply(b_.var(step)), b_.wgmma_sync({kernel::WgmmaStep::Wait, 1}),
                  b_.branch(is_later, let_go()), ring_.advance()});
    list.push_back(b_.loop(step, kernel::ForKind::Serial, integer(0), integer(steps), 1, body));
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 0}));
    list.push_back(let_go());
    list.push_back(store_wgmma(cx_, roles_, tile_,
                               {.acc = acc_,
                                .first_row = b_.add(first_row_, group_row_),
                                .first_column = b_.add(first_column_, group_column_)}));
  }));
  return b_.block(std::move(all));
}

StmtRef WgmmaLoops::build() {
  declare_maps();
  acc_ = b_.buffer({.name = "acc",
                    .space = kernel::Space::Register,
                    .type = {core_.op->d.type, 1},
                    .elems = tile_.warp_rows / kGroupRows * core_.op->d.values()});
  const ExprRef is_first = b_.scalar(ScalarOp::Eq, {b_.lane(), integer(0)});
  const schedule::RegisterPlan plan = register_plan(cx_.schedule);
  List producer, consumer;
  if (plan.producer > 0) {
    producer.push_back(b_.register_limit({false, plan.producer}));
    consumer.push_back(b_.register_limit({true, plan.consumer}));
  }
  producer.push_back(b_.branch(is_first, produce()));
  consumer.push_back(consume());
  return b_.block({b_.branch(is_first, ring_.init()), b_.barrier(),
                   b_.branch(less(b_.lane(), integer(schedule::kGroupItems)),
                             b_.block(std::move(producer)), b_.block(std::move(consumer)))});
}

} // namespace

kernel::Kernel build_wgmma(const poly::Group &group, const schedule::Schedule &schedule,
                           const Target &target) {
  return group_kernel(group, schedule, target,
                      [](Members &members) { return WgmmaLoops(members.contexts[0]).build(); });
}

} // namespace tilefuse::lower
