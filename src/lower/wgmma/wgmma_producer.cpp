// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_producer.h"

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_map.h"
#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_loads.h"
#include "lower/wgmma/wgmma_map.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_maps.h"
#include "schedule/wgmma/wgmma_spread.h"

namespace tilefuse::lower {
namespace {

using kernel::MbarrierOp;

// The maps of what is copied for an input, each as `map_of` says of a product that reads it: of boxes
// of so many rows, where the map does not say which.
std::vector<kernel::MapId> declare(const Context &cx, int input,
                                   schedule::TileMap (*map_of)(const schedule::Gemm &),
                                   const char *name, std::int64_t rows, std::int64_t row_bytes) {
  std::vector<kernel::MapId> maps;
  for (const CopiedInput &copied : copied_inputs(cx, input)) {
    schedule::TileMap map = map_of(gemm_of(copied.nest, cx.schedule));
    if (map.box.empty()) {
      const bool is_turned = cx.gemm().roles.is_turned(input);
      map.box = {is_turned ? panel_columns(cx.gemm(), input) : cx.gemm().tile.depth, rows};
      if (!map.is_im2col())
        map.box.resize(map.dims.size(), 1);
    }
    maps.push_back(declare_map(cx, map, name + copied.suffix, copied.from, row_bytes));
  }
  return maps;
}

// Coordinates of a copy at `points`. Other output indices than those of a tile come last.
std::vector<ExprRef> coordinates(const Context &cx, const schedule::TileMap &map,
                                 Positions points) {
  Positions outer(points.size(), cx.build.integer(0));
  for (const IndexId i : cx.gemm().roles.grid)
    std::swap(outer[i], points[i]);
  std::vector<ExprRef> all;
  for (const nest::Linear &place : map.place)
    all.push_back(
        cx.build.add(linear(cx, place, points), linear(cx, without_constant(place), outer)));
  return all;
}

// A row of an input: its number among the points of indices, of which each has so many.
struct Rows {
  const std::vector<IndexId> &indices;
  std::vector<std::int64_t> sizes;
  ExprRef number{};
};

// Of a row of an input, at the index along which it is contiguous 0; empty where boxes have places of
// their own.
std::vector<ExprRef> row_base(const Context &cx, const WgmmaTiles &tiles,
                              const schedule::TileMap &map, const Rows &row, Stmts &list) {
  if (!map.box.empty())
    return {};
  Positions points = tiles.first_points();
  if (!map.is_im2col()) {
    points[row.indices.back()] = row.number;
    return coordinates(cx, map, std::move(points));
  }
  const std::vector<ExprRef> digits = digits_of(cx.build, row.number, row.sizes);
  for (std::size_t k = row.indices.size(); k-- > 0;)
    points[row.indices[k]] =
        named(cx.build, list, "p_" + cx.nest.indices[row.indices[k]].name, digits[k]);
  std::vector<ExprRef> base = coordinates(cx, map, std::move(points));
  for (std::size_t d = 1; d + 1 < base.size(); ++d)
    base[d] = named(cx.build, list, "base", base[d]);
  return base;
}

class WgmmaProducer : GemmPart {
public:
  WgmmaProducer(Context &context, const WgmmaParts &parts)
      : GemmPart(context), cluster_(parts.tiles.cluster()), tiles_(parts.tiles), parts_(parts),
        ring_(parts.ring), data_ring_(parts.data_ring), data_(data_map(cx_.gemm())),
        filter_(filter_map(cx_.gemm())) {
    const std::int64_t rows = roles_.data_turned ? tile_.depth : tile_.rows / cluster_.columns();
    maps_.resize(cx_.nest.inputs.size());
    if (!has_loading_warps(cx_.schedule))
      maps_[at(roles_.data)] = declare(cx_, roles_.data, schedule::data_map, "data_map", rows,
                                       ring_row_bytes(cx_.gemm()));
    maps_[at(roles_.filter)] =
        declare(cx_, roles_.filter, schedule::filter_map, "filter_map", cx_.gemm().halo_rows(),
                roles_.filter_turned ? cx_.gemm().panel * tile_.elem_bytes : tile_.row_bytes());
  }

  // Windows and the filter come by warps of their own: neither waits for the other's ring, and a
  // fixed filter for no other kernel.
  StmtRef build() {
    if (has_loading_warps(cx_.schedule))
      return gather();
    if (halo_stages(cx_.schedule) == 0)
      return by_item(b_, 0, roles_.data_turned ? produce_turned() : produce());
    const StmtRef filter = has_resident(cx_.schedule) ? keep_filter() : stream_filter();
    const StmtRef await = has_fixed_filter() ? nullptr : b_.await_earlier();
    return b_.block(
        {by_item(b_, 0, b_.block({await, filter})), by_item(b_, kCoreLanes, produce_windows())});
  }

  // All that the producer's warps do where they map too, at places of their own in `mapped`.
  // One work-item copies windows ahead of the one that all map next. Of the buffers left, two or more
  // are those of windows mapped before, so that none that is multiplied is waited for.
  StmtRef copy_and_map(const WgmmaParts &mapped) {
    const std::int64_t ahead = cx_.schedule.roles.load.lead;
    const auto fetch = [&](ExprRef tile, ExprRef depth, std::int64_t count) {
      return tiles_.window_after(tile, depth, count,
                                 [&](const auto &points) { return fill_window(points); });
    };
    Stmts first = {data_ring_.start(1)};
    for (std::int64_t i = 0; i < ahead; ++i)
      first.push_back(fetch(cluster_.number(), integer(0), i));
    const StmtRef maps = map_windows(cx_, mapped, [&](ExprRef tile, ExprRef depth) {
      return by_item(b_, 0, fetch(tile, depth, ahead));
    });
    return beside_kept_filter(b_.block({by_item(b_, 0, b_.block(std::move(first))), maps}));
  }

private:
  bool has_fixed_filter() const { return b_.kernel()[cx_.source_buffers[at(roles_.filter)]].fixed; }

  const WgmmaCluster &cluster_;
  WgmmaTiles &tiles_;
  const WgmmaParts &parts_;
  const WgmmaRing &ring_;
  const WgmmaRing &data_ring_;
  const schedule::TileMap data_, filter_;
  std::vector<std::vector<kernel::MapId>> maps_; // by input and place in WgmmaRing::copied
  BufferId ahead_{-1}; // register: of how many steps to come the filter is copied already

  // Says what will come to a ring's buffer.
  StmtRef expect(const WgmmaRing &ring) {
    return b_.mbarrier({MbarrierOp::Expect, ring.full(ring.slot()), integer(ring.bytes())});
  }

  // The same box of all that is copied for an input.
  void copy_all(int input, kernel::TensorCopy copy, Stmts &list) {
    for (std::size_t k = 0; k < maps_[at(input)].size(); ++k) {
      copy.map = maps_[at(input)][k];
      copy.to.buffer = (input == roles_.data ? data_ring_ : ring_).copied(input)[k];
      list.push_back(b_.tensor_copy(copy));
    }
  }

  // One copy, or in blocks one for each of the step's. Blocks of a cluster's row have slices of rows.
  void copy_data(const Positions &points, const std::vector<ExprRef> &base, Stmts &list) {
    const std::int64_t block = roles_.has_blocks() ? extent(cx_.nest, roles_.depth()) : tile_.depth;
    const ExprRef slice = b_.mul(cluster_.column(), data_ring_.data_elems() / cluster_.columns());
    const ExprRef first = b_.add(b_.mul(data_ring_.slot(), data_ring_.data_elems()), slice);
    for (std::int64_t i = 0; i < tile_.depth / block; ++i) {
      kernel::TensorCopy copy{
          .to = {data_ring_.data(),
                 b_.add(first, i * block * data_ring_.data_elems() / tile_.depth)},
          .at = base,
          .signals = data_ring_.full(data_ring_.slot()),
          .ranks = cluster_.share_data()};
      Positions moved = points;
      if (roles_.has_blocks()) {
        moved[roles_.depths[0]] = b_.add(points[roles_.depths[0]], i);
        moved[roles_.depth()] = integer(0);
      }
      if (!data_.box.empty())
        for (const nest::Linear &place : data_.place)
          copy.at.push_back(linear(cx_, place, moved));
      if (const ExprRef first = tiles_.first_of_row(points))
        copy.at[0] = b_.sub(copy.at[0], b_.mul(first, block));
      if (data_.box.empty())
        copy.at[0] = b_.add(base[0], points[roles_.depth()]);
      for (const nest::Linear &tap : data_.taps)
        copy.offsets.push_back(linear(cx_, tap, points));
      copy_all(roles_.data, std::move(copy), list);
    }
  }

  // Panels of the filter; blocks of a cluster's column have slices of them, of columns, or of the
  // depth where it is turned.
  void copy_filter(const Positions &points, Stmts &list) {
    const std::int64_t panel = ring_.filter_elems() / filter_.panels;
    const ExprRef slice = b_.mul(cluster_.row(), panel / cluster_.rows());
    const ExprRef filter = b_.add(b_.mul(ring_.slot(), ring_.filter_elems()), slice);
    for (std::int64_t i = 0; i < filter_.panels; ++i) {
      Positions moved = points;
      const std::int64_t cut =
          (roles_.filter_turned ? tile_.depth : tile_.columns) / cluster_.rows();
      const ExprRef slice_points = b_.mul(cluster_.row(), cut);
      moved[roles_.channel] = b_.add(tiles_.first_column(), i * cx_.gemm().panel);
      ExprRef &along = moved[roles_.filter_turned ? roles_.depth() : roles_.channel];
      along = b_.add(along, slice_points);
      kernel::TensorCopy copy{.to = {ring_.filter(), b_.add(filter, i * panel)},
                              .map = maps_[at(roles_.filter)].front(),
                              .at = coordinates(cx_, filter_, std::move(moved)),
                              .signals = ring_.full(ring_.slot()),
                              .ranks = cluster_.share_filter()};
      copy.at.back() = b_.div(copy.at.back(), filter_.unit);
      list.push_back(b_.tensor_copy(std::move(copy)));
    }
  }

  StmtRef unless_ahead(StmtRef fill) {
    if (to_int(ahead_) < 0)
      return fill;
    const ExprRef left = b_.load(ahead_, 0);
    return b_.branch(b_.less(0, left), b_.store(ahead_, 0, b_.sub(left, 1)), fill);
  }

  StmtRef copy_step(const Positions &points, const std::vector<ExprRef> &base) {
    Stmts list = {unless_ahead(b_.block({ring_.wait_empty(), fill_filter(points)}))};
    copy_data(points, base, list);
    list.push_back(ring_.advance());
    return b_.block(std::move(list));
  }

  StmtRef fill_filter(const Positions &points) {
    Stmts list = {expect(ring_)};
    copy_filter(points, list);
    return b_.block(std::move(list));
  }

  // A step's filter for a buffer that was never filled.
  StmtRef fill_ahead(const Positions &points) {
    return b_.block({fill_filter(points), ring_.advance()});
  }

  // What the first tile's first steps read of a fixed filter, as many as there are buffers: before
  // earlier kernels are awaited.
  StmtRef copy_ahead() {
    if (!cx_.schedule.roles.load.early)
      return nullptr;
    ahead_ = register_buffer(b_, "ahead", {DType::I32, 1}, 1);
    Stmts list = {ring_.start(1)};
    tiles_.take_apart(cluster_.number(), list);
    const std::int64_t steps = core_steps(cx_.gemm());
    const ExprRef first = named(b_, list, "first_step", cluster_.first_step(steps));
    const ExprRef count = b_.min(cluster_.step_count(steps), step_stages(cx_.schedule));
    list.push_back(b_.store(ahead_, 0, count));
    Positions points = tiles_.first_points();
    list.push_back(tiles_.each_number(points, first, b_.add(first, count),
                                      [&] { return fill_ahead(points); }));
    return b_.block(std::move(list));
  }

  // One panel of a turned input, at the points at which `base` stands.
  void copy_panel(ExprRef to, const schedule::TileMap &map, std::vector<ExprRef> base,
                  const TurnedPanel &panel, Stmts &list) {
    const bool is_data = &map == &data_;
    kernel::TensorCopy copy{.to = {ring_.data(), to},
                            .at = std::move(base),
                            .signals = ring_.full(ring_.slot()),
                            .ranks = is_data ? cluster_.share_data() : cluster_.share_filter()};
    copy.at[0] = b_.add(copy.at[0], panel.channel);
    for (const nest::Linear &tap : map.taps)
      copy.offsets.push_back(is_data ? integer(0) : linear(cx_, tap, panel.points));
    copy_all(is_data ? roles_.data : roles_.filter, std::move(copy), list);
  }

  // Panels of both turned inputs, each at the same points of the depth; blocks of a cluster that
  // share a tile have some of its panels each.
  StmtRef produce_turned() {
    const std::int64_t across = panel_columns(cx_.gemm(), roles_.data);
    const std::int64_t data_panels = tile_.rows / across / cluster_.columns();
    const std::int64_t of_window = cx_.gemm().halo_columns(); // columns that a copy serves
    const std::int64_t windows = tile_.columns / of_window / cluster_.rows();
    const auto number = [&](ExprRef slice, std::int64_t count, std::int64_t i) {
      return b_.add(b_.mul(slice, count), i);
    };
    const StmtRef tiles = tiles_.each(nullptr, [&](ExprRef tile, Stmts &list) {
      tiles_.take_apart(tile, list);
      std::vector<TurnedPanel> panels;
      for (std::int64_t i = 0; i < windows; ++i)
        panels.push_back(tiles_.panel(
            b_.add(tiles_.first_column(), b_.mul(number(cluster_.row(), windows, i), of_window)),
            list));
      const auto place = [&](std::int64_t elems, ExprRef panel, std::int64_t each) {
        return b_.add(b_.mul(ring_.slot(), elems), b_.mul(panel, each));
      };
      list.push_back(tiles_.each_point([&](ExprRef point) {
        Stmts step;
        const Rows rows{roles_.depths, depth_extents(cx_.gemm()), point};
        const auto data = row_base(cx_, tiles_, data_, rows, step);
        const auto filter = row_base(cx_, tiles_, filter_, rows, step);
        step.insert(step.end(), {ring_.wait_empty(), expect(ring_)});
        for (std::int64_t i = 0; i < data_panels; ++i) {
          const ExprRef panel = number(cluster_.column(), data_panels, i);
          copy_panel(place(ring_.data_elems(), panel, across * tile_.depth), data_, data,
                     {b_.add(tiles_.first_row(), b_.mul(panel, across)), {}}, step);
        }
        for (std::int64_t i = 0; i < windows; ++i)
          copy_panel(place(ring_.filter_elems(), number(cluster_.row(), windows, i),
                           ring_.filter_elems() * of_window / tile_.columns),
                     filter_, filter, panels[at(i)], step);
        step.push_back(ring_.advance());
        return b_.block(std::move(step));
      }));
    });
    return b_.block({b_.await_earlier(), ring_.start(1), tiles});
  }

  // Of this block's slice. An im2col map cannot start past the last point, where tiles that fill up a
  // cluster and slices of the last tile may lie.
  ExprRef first_copied_row() {
    const ExprRef row =
        b_.add(tiles_.first_row(), b_.mul(cluster_.column(), tile_.rows / cluster_.columns()));
    return cluster_.size() > 1 && data_.is_im2col() ? b_.min(row, roles_.points - 1) : row;
  }

  // `body` at the first point of each tile; what it appends comes before what it gives.
  StmtRef each_tile(const std::function<StmtRef(Positions &, Stmts &)> &body) {
    return tiles_.each(nullptr, [&](ExprRef tile, Stmts &list) {
      tiles_.take_apart(tile, list);
      Positions points = tiles_.first_points();
      const StmtRef own = body(points, list);
      list.push_back(own);
    });
  }

  StmtRef produce() {
    const StmtRef ahead = copy_ahead();
    const StmtRef tiles = each_tile([&](Positions &points, Stmts &list) {
      const std::vector<ExprRef> base =
          row_base(cx_, tiles_, data_,
                   {roles_.pixels, extents(cx_.nest, roles_.pixels), first_copied_row()}, list);
      return tiles_.each_step(points, [&] { return copy_step(points, base); });
    });
    return b_.block({ahead, b_.await_earlier(), ring_.start(1), tiles});
  }

  // All steps of it, for the block's tiles.
  StmtRef keep_filter() {
    Positions points(cx_.nest.indices.size(), integer(0));
    tiles_.take_all_columns();
    return b_.block({ring_.start(1), tiles_.each_step(points, [&] { return fill_ahead(points); })});
  }

  // Copied by one work-item, and `data` brought by all.
  StmtRef beside_kept_filter(StmtRef data) {
    const StmtRef filter = by_item(b_, 0, keep_filter());
    return has_fixed_filter() ? b_.block({filter, b_.await_earlier(), data})
                              : b_.block({b_.await_earlier(), filter, data});
  }

  StmtRef stream_filter() {
    return b_.block({ring_.start(1), each_tile([&](Positions &points, Stmts &) {
                       return tiles_.each_step(points, [&] {
                         return b_.block({ring_.wait_empty(), fill_ahead(points)});
                       });
                     })});
  }

  StmtRef produce_windows() {
    return b_.block(
        {b_.await_earlier(), data_ring_.start(1), each_tile([&](Positions &points, Stmts &) {
           return tiles_.each_window(points, [&] { return fill_window(points); });
         })});
  }

  StmtRef fill_window(const Positions &points) {
    Stmts list = {data_ring_.wait_empty(), expect(data_ring_)};
    copy_data(points, {}, list);
    list.push_back(data_ring_.advance());
    return b_.block(std::move(list));
  }

  // All four warps gather data; one work-item copies the filter.
  StmtRef gather() {
    if (const std::optional<poly::MemberId> spread = schedule::spread_of(cx_.members.group))
      return beside_kept_filter(spread_data(cx_, parts_, *spread));
    return b_.block({b_.await_earlier(), gather_data(cx_, parts_, [&](const auto &points) {
                       return by_item(b_, 0, fill_filter(points));
                     })});
  }
};

} // namespace

StmtRef produce_wgmma(Context &context, const WgmmaParts &parts) {
  if (context.members.resolved.feeds.empty() || context.schedule.roles.transform.groups > 0)
    return WgmmaProducer(context, parts).build();
  const WgmmaRing copied = parts.data_ring.beside("copy_place");
  return WgmmaProducer(context, {parts.tiles, parts.ring, copied, parts.ahead}).copy_and_map(parts);
}

} // namespace tilefuse::lower
