// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_map.h"

#include <algorithm>

#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_map.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "lower/wgmma/transformed_steps.h"
#include "nest/index.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::lower {
namespace {

constexpr std::size_t kTogether = 4; // rows whose reads are under way together

// What a map feeds in one buffer of a ring with wgmma (schedule/mma/core_feeds.h), as rows of
// 16-byte chunks: those of one work-item, where tensor copies leave what the map reads. It has the
// same chunk of every so many-th row, so that it reads a channel's numbers once for all of them.
class RingMap : GemmPart {
public:
  // Rows of `row_elems` elements.
  RingMap(Context &context, const schedule::CoreFeed &feed, const WgmmaRing &ring,
          std::int64_t row_elems)
      : GemmPart(context), feed_(feed), ring_(ring), producer_(cx_.members.contexts[feed.producer]),
        map_(producer_.whole), row_elems_(row_elems), lanes_(static_cast<int>(tile_.chunk())),
        chunks_(row_elems / lanes_), apart_(schedule::kGroupItems / chunks_) {}

  // Gives the chunks to work-item number `item` of those that map.
  void place(ExprRef item, Stmts &list) {
    const schedule::Swizzle swizzle = schedule::core_swizzle(chunks_ * schedule::kChunkBytes);
    first_row_ = named(b_, list, "map_row", b_.div(item, chunks_));
    const ExprRef chunk = named(b_, list, "map_chunk", b_.mod(item, chunks_));
    run_ = named(b_, list, "map_run", b_.mul(swizzled(b_, swizzle, chunk, first_row_), lanes_));
    place_ =
        named(b_, list, "map_place", b_.add(b_.mul(first_row_, row_elems_), b_.mul(chunk, lanes_)));
  }
  ExprRef first_row() const { return first_row_; } // this work-item's
  std::int64_t apart() const { return apart_; }    // rows from one of them to the next
  // The element of a row at which its chunks begin.
  ExprRef run() const { return run_; }

  // Reads what the rows share, at `points` by index, runs along the index `along`; `exists`: there
  // is such a run, null: yes.
  void read_shared(const Positions &points, IndexId along, ExprRef exists, Stmts &list) {
    const ExprRef valid = count_if(b_, exists, lanes_);
    shared_.assign(map_.extras.size(), nullptr);
    for (const int extra : feed_.read) {
      const nest::Linear flat = read_form(cx_, feed_, extra);
      const std::int64_t stride = flat.coeff[along];
      const ExprRef from = b_.add(linear(cx_, flat, points), b_.mul(run_, stride));
      const BufferId buffer = producer_.slot_buffers[map_.extras[at(extra)].slot];
      shared_[at(extra)] =
          named(b_, list, "shared", shared_run(b_, buffer, from, lanes_, stride, valid));
    }
  }

  // The subscripts that may leave the tensor, by `points`: without constants if those are shifts.
  std::vector<ExprRef> checked(const Positions &points, bool is_shift, Stmts &list) const {
    std::vector<ExprRef> subscripts;
    for (const nest::Dim &dim : cx_.nest.inputs[at(feed_.input)].dims) {
      const nest::Linear form = is_shift ? without_constant(dim.at) : dim.at;
      if (dim.guarded)
        subscripts.push_back(named(b_, list, is_shift ? "shift" : "at", linear(cx_, form, points)));
    }
    return subscripts;
  }

  // Whether the tensor has what lies at such subscripts, shifted if `shifts` are given; null: yes.
  ExprRef inside(const std::vector<ExprRef> &subscripts,
                 const std::vector<ExprRef> &shifts = {}) const {
    ExprRef all = nullptr;
    std::size_t k = 0;
    for (const nest::Dim &dim : cx_.nest.inputs[at(feed_.input)].dims)
      if (dim.guarded) {
        const ExprRef at = shifts.empty() ? subscripts[k] : b_.add(subscripts[k], shifts[k]);
        all = also_inside(b_, all, at, dim.size);
        ++k;
      }
    return all;
  }

  // Maps this work-item's rows, those that exist, of which its first is `first` rows behind its
  // own.
  // Rows are read together before the first of them is written. What is none stays 0, as it was
  // copied, by a branch, or is set to 0 by selection.
  void map_rows(ExprRef first, const std::vector<ExprRef> &exists, Stmts &list) const {
    const BufferId to = ring_.copied(feed_.input).front();
    const DType stored = b_.kernel()[to].type.elem;
    const bool blends = cx_.schedule.roles.transform.selects;
    const ExprRef buffer =
        b_.add(b_.mul(ring_.slot(), ring_.elems(feed_.input)), b_.mul(first, row_elems_));
    for (std::size_t begin = 0; begin < exists.size(); begin += kTogether) {
      const std::size_t end = std::min(exists.size(), begin + kTogether);
      std::vector<ExprRef> places, made;
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t row = static_cast<std::int64_t>(i) * apart_;
        places.push_back(b_.add(b_.add(buffer, place_), row * row_elems_));
        made.push_back(expr_value(b_, map_.post, lanes_, nullptr,
                                  [&](int extra) { return load(extra, places.back(), list); }));
      }
      for (std::size_t i = begin; i < end; ++i) { // before any is stored under a condition
        ExprRef &value = made[i - begin];
        if (blends && exists[i] != nullptr)
          value = b_.select(exists[i], value, b_.real(0, value->type));
        value = named(b_, list, "made", value);
      }
      for (std::size_t i = begin; i < end; ++i) {
        const ExprRef valid = blends ? nullptr : count_if(b_, exists[i], lanes_);
        list.push_back(b_.store(to, places[i - begin], b_.cast(made[i - begin], stored), 1, valid));
      }
    }
  }

private:
  const schedule::CoreFeed &feed_;
  const WgmmaRing &ring_;
  const Context &producer_;
  const nest::Nest &map_;
  const std::int64_t row_elems_;
  const int lanes_;           // elements of a chunk
  const std::int64_t chunks_; // of a row
  const std::int64_t apart_;
  ExprRef first_row_{};
  ExprRef run_{};
  ExprRef place_{};             // of its first chunk in a buffer
  std::vector<ExprRef> shared_; // by extra

  ExprRef load(int extra, ExprRef place, Stmts &list) const {
    if (shared_[at(extra)] != nullptr)
      return shared_[at(extra)];
    const BufferId from = ring_.copied(feed_.input)[feed_.place(extra)];
    const DType type = compute_type(b_.kernel()[from].type.elem);
    return named(b_, list, "read", b_.cast(b_.load(from, place, lanes_), type));
  }
};

class WgmmaMap : GemmPart {
public:
  WgmmaMap(Context &context, const WgmmaParts &parts)
      : GemmPart(context), tiles_(parts.tiles), ring_(parts.data_ring),
        feeds_(cx_.members.resolved.feeds), steps_(cx_, ring_) {
    for (const schedule::CoreFeed &feed : feeds_)
      maps_.emplace_back(cx_, feed, ring_,
                         roles_.data_turned ? panel_columns(cx_.gemm(), feed.input) : tile_.depth);
  }

  // By group of work-items, `item` a number among those of all; `before`: see map_windows.
  StmtRef build(ExprRef item, const BeforeWindow &before = {}) {
    const ExprRef group = integer(schedule::kGroupItems);
    Stmts all;
    for (RingMap &map : maps_)
      map.place(b_.mod(item, group), all);
    all.push_back(steps_.start(item));
    all.push_back(tiles_.each(nullptr, [&](ExprRef tile, Stmts &list) {
      if (halo_stages(cx_.schedule) > 0) {
        list.push_back(map_windows(tile, before));
        return;
      }
      tiles_.take_apart(tile, list);
      roles_.data_turned ? map_turned_tile(list) : map_tile(list);
    }));
    return b_.block(std::move(all));
  }

private:
  using Subscripts = std::vector<ExprRef>; // of checked dimensions
  ExprRef below(ExprRef value, std::int64_t end) { return b_.less(value, end); }

  WgmmaTiles &tiles_;
  const WgmmaRing &ring_;
  const std::vector<schedule::CoreFeed> &feeds_;
  const TransformedSteps steps_;
  std::vector<RingMap> maps_;       // by feed
  std::vector<TurnedPanel> panels_; // of the filter

  // `number` taken apart and added: the last index fastest.
  Positions at_number(Positions points, const std::vector<IndexId> &indices,
                      const std::vector<std::int64_t> &sizes, ExprRef number) {
    for (std::size_t i = indices.size(); i-- > 0;) {
      const bool is_first =
          std::all_of(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(i),
                      [](std::int64_t size) { return size == 1; });
      const ExprRef digit = is_first ? number : b_.mod(number, sizes[i]);
      points[indices[i]] = b_.add(points[indices[i]], digit);
      number = is_first ? integer(0) : b_.div(number, sizes[i]);
    }
    return points;
  }

  // The pixels of a tile are points of a box, or numbers.
  Subscripts place_row(std::int64_t number, Stmts &list) {
    const schedule::PixelBox &box = tiles_.box();
    const bool is_boxed = !box.indices.empty();
    const ExprRef row = b_.add(maps_[0].first_row(), number * maps_[0].apart());
    const Positions points = at_number(
        tiles_.first_points(), is_boxed ? box.indices : roles_.pixels,
        is_boxed ? box.sizes : extents(cx_.nest, roles_.pixels), b_.add(tiles_.first_row(), row));
    return maps_[0].checked(points, false, list);
  }

  // What the rows of a step share; gives whether its depth exists, null: yes.
  ExprRef read_shared(const Positions &points, Stmts &list) {
    RingMap &map = maps_[0];
    ExprRef in_depth = nullptr;
    if (roles_.depth_points % tile_.depth != 0)
      in_depth = below(b_.add(points[roles_.depth()], map.run()), roles_.depth_points);
    map.read_shared(points, roles_.depth(), in_depth, list);
    return in_depth;
  }

  // Rows of a window from number `first` on, `count` for each work-item.
  StmtRef map_passes(ExprRef first, std::int64_t count, ExprRef in_depth) {
    Stmts list;
    RingMap &map = maps_[0];
    const schedule::PixelBox halo = window_box(cx_.gemm());
    Positions corner = tiles_.first_points();
    for (const IndexId i : halo.indices)
      corner[i] = b_.add(corner[i], lowest_tap(cx_.gemm(), i));
    std::vector<ExprRef> exist;
    for (std::int64_t i = 0; i < count; ++i) {
      const ExprRef row = b_.add(b_.add(first, map.first_row()), i * map.apart());
      const Positions points = at_number(corner, halo.indices, halo.sizes, row);
      exist.push_back(b_.logical_and(in_depth, map.inside(map.checked(points, false, list))));
    }
    map.map_rows(first, exist, list);
    return b_.block(std::move(list));
  }

  // A window's rows in a loop, and those that not all work-items have.
  StmtRef window_step(const Positions &points) {
    constexpr std::int64_t kUnrolled = 4;
    Stmts list;
    const ExprRef in_depth = read_shared(points, list);
    list.push_back(ring_.wait_full());
    const std::int64_t rows = window_rows(cx_.gemm());
    const std::int64_t apart = maps_[0].apart();
    const std::int64_t looped = rows / (kUnrolled * apart) * kUnrolled * apart;
    const kernel::VarId row = b_.variable("row", {});
    list.push_back(b_.loop(row, kernel::ForKind::Serial, 0, looped, kUnrolled * apart,
                           map_passes(b_.var(row), kUnrolled, in_depth)));
    const std::int64_t whole = (rows - looped) / apart;
    if (whole > 0)
      list.push_back(map_passes(integer(looped), whole, in_depth));
    const std::int64_t last = looped + whole * apart;
    if (last < rows)
      list.push_back(b_.branch(below(maps_[0].first_row(), rows - last),
                               map_passes(integer(last), 1, in_depth)));
    list.push_back(ring_.say_ready());
    return b_.block(std::move(list));
  }

  StmtRef step(const Positions &points, const std::vector<Subscripts> &rows) {
    Stmts list;
    RingMap &map = maps_[0];
    const ExprRef in_depth = read_shared(points, list);
    Positions taps(points.size(), integer(0));
    for (const IndexId i : roles_.walked)
      taps[i] = points[i];
    const Subscripts shifts = map.checked(taps, true, list);
    list.push_back(ring_.wait_full());
    std::vector<ExprRef> exist;
    for (const Subscripts &row : rows)
      exist.push_back(b_.logical_and(in_depth, map.inside(row, shifts)));
    map.map_rows(integer(0), exist, list);
    list.push_back(ring_.say_ready());
    return b_.block(std::move(list));
  }

  // All windows of a tile, which is taken apart for each: what precedes it stands at another.
  StmtRef map_windows(ExprRef tile, const BeforeWindow &before) {
    Positions points(cx_.nest.indices.size(), integer(0));
    return tiles_.each_window(points, [&] {
      const ExprRef depth = points[roles_.depths.front()];
      Stmts list;
      if (before)
        list.push_back(before(tile, depth));
      tiles_.take_apart(tile, list);
      Positions inside = tiles_.first_points();
      inside[roles_.depths.front()] = depth;
      list.push_back(steps_.in_turn(window_step(inside)));
      return b_.block(std::move(list));
    });
  }

  void map_tile(Stmts &list) {
    std::vector<Subscripts> rows;
    for (std::int64_t i = 0; i < tile_.rows / maps_[0].apart(); ++i)
      rows.push_back(place_row(i, list));
    Positions points = tiles_.first_points();
    list.push_back(tiles_.each_step(points, [&] { return steps_.in_turn(step(points, rows)); }));
  }

  // Rows of a panel are points of the depth; its chunks, channels or pixels.
  void map_panel(std::size_t feed, std::int64_t panel, ExprRef point, Stmts &list) {
    RingMap &map = maps_[feed];
    const bool is_data = feeds_[feed].input == roles_.data;
    const IndexId along = roles_.contiguous(feeds_[feed].input);
    Positions points = tiles_.first_points();
    ExprRef first = b_.add(tiles_.first_row(), panel * panel_columns(cx_.gemm(), roles_.data));
    if (!is_data) {
      const TurnedPanel &of = panels_[at(panel)];
      for (const IndexId tap : tiles_.plan().taps)
        points[tap] = of.points[tap];
      first = of.channel;
    }
    points[along] = first;
    const std::int64_t points_along = extent(cx_.nest, along);
    const std::int64_t whole = is_data ? tile_.rows : cx_.gemm().panel; // of panels
    const ExprRef exists =
        points_along % whole == 0
            ? nullptr
            : named(b_, list, "run_exists", below(b_.add(first, map.run()), points_along));
    map.read_shared(points, along, exists, list);
    std::vector<ExprRef> exist;
    for (std::int64_t i = 0; i < tile_.depth / map.apart(); ++i) {
      const ExprRef number = b_.add(point, b_.add(map.first_row(), i * map.apart()));
      const Subscripts subscripts = map.checked(
          at_number(points, roles_.depths, extents(cx_.nest, roles_.depths), number), false, list);
      const ExprRef in_depth =
          roles_.depth_points % tile_.depth == 0 ? nullptr : below(number, roles_.depth_points);
      exist.push_back(b_.logical_and(b_.logical_and(exists, in_depth), map.inside(subscripts)));
    }
    map.map_rows(integer(panel * tile_.depth), exist, list);
  }

  StmtRef turned_step(ExprRef point) {
    Stmts list = {ring_.wait_full()};
    for (std::size_t f = 0; f < feeds_.size(); ++f) {
      const std::int64_t columns = feeds_[f].input == roles_.data ? tile_.rows : tile_.columns;
      for (std::int64_t panel = 0; panel < columns / panel_columns(cx_.gemm(), feeds_[f].input);
           ++panel)
        map_panel(f, panel, point, list);
    }
    list.push_back(ring_.say_ready());
    return b_.block(std::move(list));
  }

  void map_turned_tile(Stmts &list) {
    panels_.clear();
    for (std::int64_t i = 0; i < tile_.columns; i += cx_.gemm().panel)
      panels_.push_back(tiles_.panel(b_.add(tiles_.first_column(), i), list));
    list.push_back(
        tiles_.each_point([&](ExprRef point) { return steps_.in_turn(turned_step(point)); }));
  }
};

} // namespace

StmtRef map_windows(Context &cx, const WgmmaParts &parts, const BeforeWindow &before) {
  return WgmmaMap(cx, parts).build(cx.build.lane(), before);
}

StmtRef map_tiles(Context &cx, const WgmmaParts &parts, ExprRef item) {
  return WgmmaMap(cx, parts).build(item);
}

} // namespace tilefuse::lower
