// SPDX-License-Identifier: Apache-2.0
#include "lower/build_wgmma.h"

#include "lower/members.h"
#include "lower/pipeline.h"
#include "lower/turned_panel.h"
#include "lower/wgmma_ring.h"
#include "lower/wgmma_store.h"
#include "lower/wgmma_tiles.h"

namespace tilefuse::lower {
namespace {

using kernel::BufferId;
using kernel::ExprRef;
using kernel::MbarrierOp;
using kernel::StmtRef;

constexpr std::int64_t kGroupRows = 64; // of one wgmma
constexpr std::int64_t kStepBytes = 32; // of depth, by one
using schedule::kPanelBytes;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class WgmmaLoops {
public:
  explicit WgmmaLoops(Context &context)
      : cx_(context), b_(cx_.build), core_(cx_.schedule.core),
        roles_(core_roles(cx_.nest, cx_.schedule)), tile_(core_tile(cx_.nest, cx_.schedule)),
        plan_(column_plan(cx_.nest, cx_.schedule)), tiles_(cx_, roles_, tile_, plan_),
        row_bytes_(ring_row_bytes(cx_.nest, cx_.schedule)), data_(data_map(cx_.nest, cx_.schedule)),
        filter_(roles_.data_turned ? schedule::FilterMap{} : filter_map(cx_.nest, cx_.schedule)),
        turned_(roles_.data_turned ? turned_filter_map(cx_.nest, cx_.schedule)
                                   : schedule::DataMap{}),
        ring_(cx_, roles_, tile_) {}

  StmtRef build();

private:
  using List = std::vector<StmtRef>;
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  std::int64_t extent(int i) const { return cx_.nest.indices[at(i)].extent; }
  ExprRef less(ExprRef a, ExprRef b) { return b_.scalar(ScalarOp::Lt, {a, b}); }
  void declare_maps();
  kernel::MapId declare(const schedule::DataMap &map, const char *name, int input,
                        std::int64_t rows);
  StmtRef produce();
  std::vector<ExprRef> base_of(const schedule::DataMap &map, const std::vector<int> &pixels,
                               ExprRef row, List &list);
  StmtRef produce_turned();
  List wait_to_fill();
  StmtRef walk(std::size_t level, std::vector<ExprRef> &points, const std::vector<ExprRef> &base);
  StmtRef copy_step(const std::vector<ExprRef> &points, const std::vector<ExprRef> &base);
  void copy_data(const std::vector<ExprRef> &points, const std::vector<ExprRef> &base, List &list);
  StmtRef consume();
  bool has_neighbours() const { return roles_.has_blocks() && tiles_.box().sizes.front() > 1; }
  std::int64_t depth_at(int input, std::int64_t k) const;
  ExprRef group_data();
  StmtRef multiply(ExprRef step);

  Context &cx_;
  kernel::Builder &b_;
  const schedule::Core &core_;
  const schedule::CoreRoles roles_;
  const schedule::CoreTile tile_;
  const schedule::ColumnPlan plan_;
  WgmmaTiles tiles_;
  const std::int64_t row_bytes_; // in the ring
  const schedule::DataMap data_;
  const schedule::FilterMap filter_; // beside straight data
  const schedule::DataMap turned_;   // the filter's beside turned data
  WgmmaRing ring_;
  kernel::MapId data_id_{}, filter_id_{};
  BufferId acc_{-1};
  ExprRef group_row_{}, group_column_{}; // of four warps, in the tile
};

kernel::MapId WgmmaLoops::declare(const schedule::DataMap &map, const char *name, int input,
                                  std::int64_t rows) {
  std::vector<std::int64_t> box{tile_.row_bytes() / tile_.elem_bytes, rows};
  if (!map.box.empty())
    box = map.box;
  else if (!map.is_im2col())
    box.resize(map.dims.size(), 1);
  return b_.tensor_map({.name = name,
                        .tensor = cx_.source_buffers[at(input)],
                        .offset = map.offset,
                        .dims = map.dims,
                        .strides = map.strides,
                        .box = std::move(box),
                        .lower = map.lower,
                        .upper = map.upper,
                        .steps = map.steps,
                        .swizzle = static_cast<int>(row_bytes_)});
}

void WgmmaLoops::declare_maps() {
  data_id_ = declare(data_, "data_map", roles_.data, roles_.data_turned ? tile_.depth : tile_.rows);
  if (roles_.data_turned) {
    filter_id_ = declare(turned_, "filter_map", roles_.filter, tile_.depth);
    return;
  }
  filter_id_ = b_.tensor_map({.name = "filter_map",
                              .tensor = cx_.source_buffers[at(roles_.filter)],
                              .offset = filter_.offset,
                              .dims = filter_.dims,
                              .strides = filter_.strides,
                              .box = filter_.box,
                              .swizzle = static_cast<int>(row_bytes_)});
}

// Coordinates of row number `row` of an input, those of the contiguous index 0.
std::vector<ExprRef> WgmmaLoops::base_of(const schedule::DataMap &map,
                                         const std::vector<int> &pixels, ExprRef row, List &list) {
  std::vector<ExprRef> parts;
  std::vector<ExprRef> positions(cx_.nest.indices.size(), integer(0));
  for (int i : plan_.parts)
    positions[at(i)] = cx_.origin[at(i)];
  for (const nest::Linear &part : map.parts)
    parts.push_back(linear(cx_, part, positions));
  if (!map.place.empty())
    return {};
  std::vector<ExprRef> base{map.is_im2col() ? linear(cx_, map.first, positions) : integer(0)};
  if (!map.is_im2col()) {
    base.push_back(row);
    base.insert(base.end(), parts.begin(), parts.end());
    return base;
  }
  ExprRef rest = row;
  for (auto i = pixels.rbegin(); i != pixels.rend(); ++i) {
    const bool is_last = i + 1 == pixels.rend();
    positions[at(*i)] = named(b_, list, "p_" + cx_.nest.indices[at(*i)].name,
                              is_last ? rest : b_.mod(rest, integer(extent(*i))));
    rest = b_.div(rest, integer(extent(*i)));
  }
  for (std::size_t d = 0; d < map.pixels.size(); ++d) {
    const ExprRef pixel = map.pixels[d] < 0 ? integer(0) : positions[at(map.pixels[d])];
    const bool is_batch = d == map.steps.size();
    base.push_back(
        is_batch ? b_.add(pixel, parts.front())
                 : named(b_, list, "base",
                         b_.add(b_.mul(pixel, integer(map.steps[d])), integer(map.lower[d]))));
  }
  return base;
}

WgmmaLoops::List WgmmaLoops::wait_to_fill() {
  return {b_.mbarrier({MbarrierOp::Wait, ring_.empty(ring_.slot()), ring_.parity()}),
          b_.mbarrier({MbarrierOp::Expect, ring_.full(ring_.slot()), integer(ring_.bytes())})};
}

// One copy, or in blocks one for each of the step's.
void WgmmaLoops::copy_data(const std::vector<ExprRef> &points, const std::vector<ExprRef> &base,
                           List &list) {
  const std::int64_t block = roles_.has_blocks() ? extent(roles_.depth()) : tile_.depth;
  for (std::int64_t i = 0; i < tile_.depth / block; ++i) {
    const ExprRef to =
        b_.add(b_.mul(ring_.slot(), integer(ring_.data_elems())), integer(i * block * tile_.rows));
    kernel::TensorCopy copy{
        .to = {ring_.data(), to}, .map = data_id_, .at = base, .signals = ring_.full(ring_.slot())};
    std::vector<ExprRef> moved = points;
    if (roles_.has_blocks()) {
      moved[at(roles_.depths[0])] = b_.add(points[at(roles_.depths[0])], integer(i));
      moved[at(roles_.depth())] = integer(0);
    }
    for (const nest::Linear &place : data_.place)
      copy.at.push_back(linear(cx_, place, moved));
    if (data_.place.empty())
      copy.at[0] = b_.add(base[0], points[at(roles_.depth())]);
    for (const nest::Linear &tap : data_.taps)
      copy.offsets.push_back(linear(cx_, tap, points));
    list.push_back(b_.tensor_copy(std::move(copy)));
  }
}

StmtRef WgmmaLoops::copy_step(const std::vector<ExprRef> &points,
                              const std::vector<ExprRef> &base) {
  List list = wait_to_fill();
  const kernel::LocalRef signals = ring_.full(ring_.slot());
  copy_data(points, base, list);
  const ExprRef filter = b_.mul(ring_.slot(), integer(ring_.filter_elems()));
  const std::int64_t panel = ring_.filter_elems() / filter_.panels;
  for (std::int64_t i = 0; i < filter_.panels; ++i) {
    kernel::TensorCopy copy{.to = {ring_.filter(), b_.add(filter, integer(i * panel))},
                            .map = filter_id_,
                            .signals = signals};
    std::vector<ExprRef> moved = points;
    const ExprRef along = integer(i * row_bytes_ / tile_.elem_bytes);
    moved[at(roles_.channel)] = b_.add(tiles_.first_column(), along);
    copy.at.assign(filter_.dims.size(), integer(0));
    copy.at.front() = linear(cx_, filter_.first, moved);
    if (!roles_.filter_turned)
      copy.at.front() = b_.add(copy.at.front(), along);
    const ExprRef column = b_.add(tiles_.first_column(), linear(cx_, filter_.parts, points));
    copy.at.back() =
        roles_.filter_turned ? points[at(roles_.depth())] : b_.div(column, integer(filter_.unit));
    list.push_back(b_.tensor_copy(std::move(copy)));
  }
  list.push_back(ring_.advance());
  return b_.block(std::move(list));
}

// Loops over the walked indices, the depth innermost.
StmtRef WgmmaLoops::walk(std::size_t level, std::vector<ExprRef> &points,
                         const std::vector<ExprRef> &base) {
  const bool is_depth = level == roles_.walked.size();
  const int index = is_depth ? roles_.depths.front() : roles_.walked[level];
  const std::int64_t step =
      roles_.has_blocks() ? tile_.depth / extent(roles_.depth()) : tile_.depth;
  const kernel::VarId var = b_.variable("v_" + cx_.nest.indices[at(index)].name, {});
  points[at(index)] = b_.var(var);
  const StmtRef body = is_depth ? copy_step(points, base) : walk(level + 1, points, base);
  return b_.loop(var, kernel::ForKind::Serial, integer(0), integer(extent(index)),
                 is_depth ? step : 1, body);
}

// One step of turned inputs: panels of both, each at the same points of the depth.
StmtRef WgmmaLoops::produce_turned() {
  const std::int64_t across = kPanelBytes / tile_.elem_bytes;
  const StmtRef tiles = tiles_.each(nullptr, [&](ExprRef tile, List &list) {
    tiles_.take_apart(tile, list);
    std::vector<TurnedPanel> panels;
    for (std::int64_t i = 0; i < tile_.columns / across; ++i)
      panels.push_back(turned_panel(
          cx_, roles_, plan_, b_.add(tiles_.first_column(), integer(i * across)),
          [&](const std::string &name, ExprRef value) { return named(b_, list, name, value); }));
    const kernel::VarId point = b_.variable("point", {});
    List step;
    const auto copy = [&](kernel::MapId map, kernel::LocalRef to, std::vector<ExprRef> at,
                          std::vector<ExprRef> offsets) {
      step.push_back(b_.tensor_copy({.to = to,
                                     .map = map,
                                     .at = std::move(at),
                                     .offsets = std::move(offsets),
                                     .signals = ring_.full(ring_.slot())}));
    };
    const std::vector<ExprRef> data = base_of(data_, roles_.depths, b_.var(point), step);
    const std::vector<ExprRef> filter = base_of(turned_, roles_.depths, b_.var(point), step);
    for (StmtRef wait : wait_to_fill())
      step.push_back(wait);
    const ExprRef data_to = b_.mul(ring_.slot(), integer(ring_.data_elems()));
    for (std::int64_t i = 0; i < tile_.rows / across; ++i) {
      std::vector<ExprRef> at = data;
      at[0] = b_.add(tiles_.first_row(), integer(i * across));
      copy(data_id_, {ring_.data(), b_.add(data_to, integer(i * across * tile_.depth))},
           std::move(at), std::vector<ExprRef>(data_.taps.size(), integer(0)));
    }
    const ExprRef filter_to = b_.mul(ring_.slot(), integer(ring_.filter_elems()));
    for (std::size_t i = 0; i < panels.size(); ++i) {
      std::vector<ExprRef> at = filter;
      at[0] = panels[i].channel;
      std::vector<ExprRef> offsets;
      for (const nest::Linear &tap : turned_.taps)
        offsets.push_back(linear(cx_, tap, panels[i].points));
      const auto apart = static_cast<std::int64_t>(i) * across * tile_.depth;
      copy(filter_id_, {ring_.filter(), b_.add(filter_to, integer(apart))}, std::move(at),
           std::move(offsets));
    }
    step.push_back(ring_.advance());
    list.push_back(b_.loop(point, kernel::ForKind::Serial, integer(0), integer(roles_.depth_points),
                           tile_.depth, b_.block(std::move(step))));
  });
  return b_.block({ring_.start(1), tiles});
}

StmtRef WgmmaLoops::produce() {
  if (roles_.data_turned)
    return produce_turned();
  const StmtRef tiles = tiles_.each(nullptr, [&](ExprRef tile, List &list) {
    tiles_.take_apart(tile, list);
    const std::vector<ExprRef> base = base_of(data_, roles_.pixels, tiles_.first_row(), list);
    std::vector<ExprRef> points(cx_.nest.indices.size(), integer(0));
    for (int i : plan_.parts)
      points[at(i)] = cx_.origin[at(i)];
    for (int i : tiles_.box().indices)
      points[at(i)] = cx_.origin[at(i)];
    list.push_back(walk(0, points, base));
  });
  return b_.block({ring_.start(1), tiles});
}

// Of 32 bytes of an input's depth from the group's first row or column on, in a buffer of the ring.
std::int64_t WgmmaLoops::depth_at(int input, std::int64_t k) const {
  const std::int64_t step = kStepBytes / tile_.elem_bytes;
  if (roles_.is_turned(input))
    return k * step * kPanelBytes / tile_.elem_bytes;
  const std::int64_t row = row_bytes_ / kStepBytes; // steps
  const std::int64_t panel = roles_.has_blocks() && input == roles_.data ? 1 : row;
  const std::int64_t rows = input == roles_.data ? tile_.rows : tile_.columns;
  return (k / panel * rows * panel + k % panel) * step;
}

// The group's first row in a buffer of the ring; in blocks 64 rows are a neighbour's.
ExprRef WgmmaLoops::group_data() {
  const std::int64_t block = kStepBytes / tile_.elem_bytes;
  return has_neighbours() ? b_.mul(b_.div(group_row_, integer(kGroupRows)), integer(block))
                          : b_.mul(group_row_, integer(row_bytes_ / tile_.elem_bytes));
}

StmtRef WgmmaLoops::multiply(ExprRef step) {
  const std::int64_t row = row_bytes_ / tile_.elem_bytes;
  const std::int64_t across = kPanelBytes / tile_.elem_bytes;
  const auto panel = [&](int input) { return roles_.is_turned(input) ? tile_.depth * across : 0; };
  const std::int64_t values = core_.op->d.values();
  const std::int64_t apart = has_neighbours() ? kStepBytes / tile_.elem_bytes : kGroupRows * row;
  List list;
  const ExprRef data =
      named(b_, list, "data_tile",
            b_.add(b_.mul(ring_.slot(), integer(ring_.data_elems())), group_data()));
  const ExprRef filter = named(b_, list, "filter_tile",
                               b_.add(b_.mul(ring_.slot(), integer(ring_.filter_elems())),
                                      b_.mul(group_column_, integer(row))));
  list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Fence}));
  for (std::int64_t i = 0; i < tile_.warp_rows / kGroupRows; ++i)
    for (std::int64_t k = 0; k < tile_.row_bytes() / kStepBytes; ++k)
      list.push_back(b_.wgmma(
          {.op = core_.op,
           .acc = {acc_, integer(i * values)},
           .a = {ring_.data(), b_.add(data, integer(i * apart + depth_at(roles_.data, k)))},
           .b = {ring_.filter(), b_.add(filter, integer(depth_at(roles_.filter, k)))},
           .row_bytes = static_cast<int>(row_bytes_),
           .a_panel = panel(roles_.data),
           .b_panel = panel(roles_.filter),
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
  all.push_back(tiles_.each(turn, [&](ExprRef tile, List &list) {
    if (takes_turns)
      list.push_back(ring_.wait_turn(turn));
    const kernel::VarId step = b_.variable("step", {});
    const ExprRef is_later = less(integer(0), b_.var(step));
    const StmtRef body =
        b_.block({b_.mbarrier({MbarrierOp::Wait, ring_.full(ring_.slot()), ring_.parity()}),
                  multiply(b_.var(step)), b_.wgmma_sync({kernel::WgmmaStep::Wait, 1}),
                  b_.branch(is_later, ring_.let_go()), ring_.advance()});
    list.push_back(b_.loop(step, kernel::ForKind::Serial, integer(0), integer(steps), 1, body));
    if (takes_turns)
      list.push_back(ring_.end_turn(turn));
    list.push_back(b_.wgmma_sync({kernel::WgmmaStep::Wait, 0}));
    list.push_back(ring_.let_go());
    if (takes_turns)
      list.push_back(ring_.skip(steps));
    tiles_.take_apart(tile, list); // no sooner: accumulators leave few registers
    list.push_back(store_wgmma(cx_, roles_, tile_, plan_,
                               {.acc = acc_,
                                .box = tiles_.box(),
                                .first_row = b_.add(tiles_.first_row(), group_row_),
                                .first_column = b_.add(tiles_.first_column(), group_column_)}));
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
