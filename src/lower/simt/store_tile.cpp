// SPDX-License-Identifier: Apache-2.0
#include "lower/simt/store_tile.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "nest/index.h"
#include "schedule/result_tile.h"

namespace tilefuse::lower {
namespace {

using kernel::ForKind;
using kernel::VarId;
using schedule::ResultDim;

// That are written out, so that no loop takes numbers apart.
constexpr std::int64_t kMostRounds = 128;

class TileStore {
public:
  explicit TileStore(const Context &cx)
      : cx_(cx), b_(cx.build), tile_(*cx.turned), width_(cx.width()) {}

  StmtRef by_squares();
  StmtRef by_items();

private:
  // An element of the buffer and the one of the result that it is for.
  struct Place {
    ExprRef from{};
    ExprRef to{};
  };
  std::int64_t coeff(IndexId i) const { return cx_.result_form.coeff[i]; }
  ExprRef scaled(ExprRef value, std::int64_t by) const { return b_.mul(value, by); }
  ExprRef first(IndexId i) const;
  ExprRef existing(IndexId i) const;
  ExprRef run_length() const;
  Place start() const;
  Place moved(const Place &place, IndexId index, ExprRef by) const;
  Place moved_in_run(const Place &place, ExprRef by) const;

  StmtRef other_loops(std::size_t level, const Place &place);
  StmtRef squares(const Place &place);
  StmtRef square(const Place &place, ExprRef lane, ExprRef position, bool is_full);
  StmtRef loop(std::int64_t most, ExprRef end, std::int64_t step,
               const std::function<StmtRef(ExprRef)> &body);
  StmtRef element(ExprRef number);

  const Context &cx_;
  kernel::Builder &b_;
  const schedule::ResultTile &tile_;
  int width_;
};

// The first point of an index that the buffer holds.
ExprRef TileStore::first(IndexId i) const {
  return tile_.dims[i].is_tile ? cx_.origin[i] : b_.add(cx_.origin[i], cx_.inside[i]);
}

// Points of an index that the buffer holds and that exist; a constant where that is always the
// same.
ExprRef TileStore::existing(IndexId i) const {
  const std::int64_t points = tile_.dims[i].points;
  const std::int64_t extent = nest::extent(cx_.nest, i);
  if (extent % points == 0)
    return b_.integer(points);
  return extent < points ? b_.integer(extent) : b_.min(points, b_.sub(extent, first(i)));
}

// Of the run: all but its last index are whole.
ExprRef TileStore::run_length() const {
  ExprRef length = b_.integer(1);
  for (const IndexId i : tile_.run)
    length = b_.mul(length, existing(i));
  return length;
}

TileStore::Place TileStore::start() const {
  ExprRef to = b_.add(cx_.result_base, cx_.result_form.constant);
  for (const IndexId i : output_indices(cx_.nest))
    to = b_.add(to, scaled(first(i), coeff(i)));
  return {b_.integer(0), to};
}

TileStore::Place TileStore::moved(const Place &place, IndexId index, ExprRef by) const {
  return {b_.add(place.from, scaled(by, tile_.dims[index].stride)),
          b_.add(place.to, scaled(by, coeff(index)))};
}

TileStore::Place TileStore::moved_in_run(const Place &place, ExprRef by) const {
  return {b_.add(place.from, scaled(by, tile_.run_step())),
          b_.add(place.to, scaled(by, tile_.run_stride))};
}

// A loop of up to `most` points; none where there is but one.
StmtRef TileStore::loop(std::int64_t most, ExprRef end, std::int64_t step,
                        const std::function<StmtRef(ExprRef)> &body) {
  if (most <= step)
    return body(b_.integer(0));
  const VarId var = b_.variable("e", {});
  return b_.loop(var, ForKind::Serial, 0, end, step, body(b_.var(var)));
}

StmtRef TileStore::other_loops(std::size_t level, const Place &place) {
  if (level == tile_.others.size())
    return squares(place);
  const IndexId index = tile_.others[level];
  return loop(tile_.dims[index].points, existing(index), 1,
              [&](ExprRef at) { return other_loops(level + 1, moved(place, index, at)); });
}

StmtRef TileStore::squares(const Place &place) {
  const ExprRef length = run_length();
  const ExprRef width = b_.integer(width_);
  std::int64_t known = 0;
  const bool is_known = kernel::is_constant(length, &known);
  return loop(tile_.dims[tile_.lane].points, existing(tile_.lane), width_, [&](ExprRef lane) {
    if (is_known) {
      const ExprRef whole = b_.integer(known / width_ * width_);
      const VarId var = b_.variable("e", {});
      const StmtRef full =
          b_.loop(var, ForKind::Serial, 0, whole, width_, square(place, lane, b_.var(var), true));
      return b_.block({full, known % width_ != 0 ? square(place, lane, whole, false) : nullptr});
    }
    if (tile_.run_points() < width_)
      return square(place, lane, b_.integer(0), false);
    return loop(tile_.run_points(), length, width_, [&](ExprRef at) {
      const ExprRef fits = b_.scalar(ScalarOp::Le, {b_.add(at, width), length});
      return b_.branch(fits, square(place, lane, at, true), square(place, lane, at, false));
    });
  });
}

// As many neighbours along the lanes as of the run, or what is left of it.
StmtRef TileStore::square(const Place &place, ExprRef lane, ExprRef position, bool is_full) {
  const DType stored = b_.kernel()[cx_.result].type.elem;
  const DType held = compute_type(stored);
  const BufferId rows = register_buffer(b_, "square" + std::to_string(b_.kernel().buffers.size()),
                                        {held, width_}, width_);
  const ExprRef lanes = existing(tile_.lane);
  const ExprRef left = b_.sub(lanes, lane);
  std::int64_t count = 0;
  const bool is_whole = kernel::is_constant(lanes, &count) && count % width_ == 0;
  const ExprRef length = run_length();
  Stmts body;
  for (int row = 0; row < width_; ++row) {
    ExprRef at = b_.add(position, row);
    if (!is_full)
      at = b_.min(at, b_.sub(length, 1));
    const ExprRef from = moved_in_run(moved(place, tile_.lane, lane), at).from;
    const ExprRef value = b_.load(cx_.turned_buffer, from, width_, 1, is_whole ? nullptr : left);
    body.push_back(b_.store(rows, row, b_.cast(value, held)));
  }
  body.push_back(b_.transpose({{rows, b_.integer(0)}, width_}));
  for (int row = 0; row < width_; ++row) {
    const ExprRef run = b_.add(lane, row);
    const ExprRef value = b_.cast(b_.load(rows, row, width_), stored);
    const StmtRef store =
        b_.store(cx_.result, moved_in_run(moved(place, tile_.lane, run), position).to, value,
                 tile_.run_stride, is_full ? nullptr : b_.sub(length, position));
    body.push_back(is_whole ? store : b_.branch(b_.less(run, lanes), store));
  }
  return b_.block(std::move(body));
}

StmtRef TileStore::by_squares() { return other_loops(0, start()); }

// Elements by number: along the run, then the lanes, then the rest.
StmtRef TileStore::element(ExprRef number) {
  Place place = start();
  ExprRef exists = nullptr;
  const auto take = [&](IndexId index) {
    const std::int64_t points = tile_.dims[index].points;
    const ExprRef at = b_.mod(number, points);
    number = b_.div(number, points);
    place = moved(place, index, at);
    const ExprRef all = existing(index);
    std::int64_t known = 0;
    if (!kernel::is_constant(all, &known) || known < points)
      exists = b_.logical_and(exists, b_.less(at, all));
  };
  for (const IndexId i : tile_.run)
    take(i);
  take(tile_.lane);
  for (const IndexId i : tile_.others)
    take(i);
  const DType stored = b_.kernel()[cx_.result].type.elem;
  const ExprRef value = b_.cast(b_.load(cx_.turned_buffer, place.from), compute_type(stored));
  const StmtRef store = b_.store(cx_.result, place.to, b_.cast(value, stored));
  return exists ? b_.branch(exists, store) : store;
}

StmtRef TileStore::by_items() {
  const std::int64_t items = cx_.block_size();
  const std::int64_t elems = tile_.run_points() * tile_.runs();
  const VarId var = b_.variable("e", {});
  const ExprRef number = b_.add(b_.var(var), b_.lane());
  StmtRef body = element(number);
  if (elems % items != 0)
    body = b_.branch(b_.less(number, elems), body);
  const ForKind kind = elems <= kMostRounds * items ? ForKind::Unroll : ForKind::Serial;
  return b_.loop(var, kind, 0, elems, items, body);
}

} // namespace

ExprRef turned_place(const Context &cx) {
  kernel::Builder &b = cx.build;
  ExprRef at = b.integer(0);
  for (const IndexId i : output_indices(cx.nest)) {
    const ResultDim &dim = cx.turned->dims[i];
    const ExprRef step = dim.is_tile ? cx.inside[i] : b.integer(0);
    const ExprRef point = b.add(b.add(step, cx.kept[i]), cx.lane_at[i]);
    at = b.add(at, b.mul(point, dim.stride));
  }
  return at;
}

StmtRef store_tile(const Context &cx) {
  TileStore store(cx);
  if (cx.is_vector())
    return store.by_squares();
  kernel::Builder &b = cx.build;
  return cx.block_size() == 1 ? store.by_items()
                              : b.block({b.barrier(), store.by_items(), b.barrier()});
}

} // namespace tilefuse::lower
