// SPDX-License-Identifier: Apache-2.0
#include "lower/gathered_window.h"

#include <algorithm>

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

namespace {

constexpr std::int64_t kSwizzleRows = 8; // after which the exchange of chunks repeats

std::size_t at(int i) { return static_cast<std::size_t>(i); }

} // namespace

GatheredWindow::GatheredWindow(Context &context, const WgmmaParts &parts)
    : cx_(context), b_(context.build), roles_(parts.roles), tile_(parts.tile),
      ring_(parts.data_ring), map_(data_map(cx_.nest, cx_.schedule)),
      rows_(window_rows(cx_.nest, cx_.schedule)),
      each_(core_copy_elems(cx_.nest, cx_.schedule, roles_.data)),
      apart_(schedule::kGroupItems / (tile_.depth / each_)) {}

// Whether some window reaches past the ends of a dimension.
bool GatheredWindow::leaves(std::size_t dim) const {
  const nest::Linear &place = map_.place[dim];
  std::int64_t low = place.constant, high = place.constant + map_.box[dim] - 1;
  for (std::size_t i = 0; i < place.coeff.size(); ++i) {
    const std::int64_t tile = i < cx_.outputs() ? cx_.schedule.splits[i].tile : 1;
    const std::int64_t last = (cx_.nest.indices[i].extent - 1) / tile * tile;
    (place.coeff[i] < 0 ? low : high) += place.coeff[i] * last;
  }
  return low < 0 || high >= map_.dims[dim];
}

ExprRef GatheredWindow::place_in_window(ExprRef row) const {
  const schedule::Swizzle swizzle = schedule::core_swizzle(tile_.row_bytes());
  const ExprRef chunk = b_.div(along_, integer(tile_.chunk()));
  const ExprRef bits = b_.mod(b_.div(row, integer(swizzle.divisor)), integer(swizzle.modulus));
  const ExprRef moved = b_.scalar(ScalarOp::BitXor, {chunk, bits});
  return b_.add(b_.add(b_.mul(row, integer(tile_.depth)), b_.mul(moved, integer(tile_.chunk()))),
                b_.mod(along_, integer(tile_.chunk())));
}

GatheredWindow::Run GatheredWindow::run_of(ExprRef row, List &list) const {
  Run run{.row = row, .digits = std::vector<ExprRef>(map_.box.size(), nullptr)};
  const nest::Linear flat = nest::flat(cx_.nest.inputs[at(roles_.data)], cx_.nest.indices.size());
  ExprRef from = along_;
  if (roles_.has_blocks()) {
    const ExprRef block = integer(cx_.nest.indices[at(roles_.depth())].extent);
    from = b_.add(b_.mod(along_, block),
                  b_.mul(b_.div(along_, block), integer(flat.coeff[at(roles_.depths.front())])));
  }
  ExprRef rest = row;
  for (std::size_t d = 1; d < map_.box.size(); ++d) {
    if (map_.box[d] == 1)
      continue;
    ExprRef digit = b_.mod(rest, integer(map_.box[d]));
    if (leaves(d))
      digit = run.digits[d] = named(b_, list, "digit", digit);
    from = b_.add(from, b_.mul(digit, integer(map_.strides[d])));
    rest = b_.div(rest, integer(map_.box[d]));
  }
  run.from = named(b_, list, "from", from);
  return run;
}

void GatheredWindow::declare(List &list) {
  const ExprRef per_row = integer(tile_.depth / each_);
  const ExprRef row = named(b_, list, "window_row", b_.div(b_.lane(), per_row));
  along_ = named(b_, list, "along", b_.mul(b_.mod(b_.lane(), per_row), integer(each_)));
  for (std::int64_t first = 0; first < rows_; first += apart_) {
    Run run = run_of(b_.add(row, integer(first)), list);
    run.to = first > 0 && apart_ % kSwizzleRows == 0
                 ? b_.add(runs_.front().to, integer(first * tile_.depth))
                 : named(b_, list, "to", place_in_window(run.row));
    runs_.push_back(std::move(run));
  }
}

// Elements that exist, all or none; null: all.
ExprRef GatheredWindow::valid(const Run &run, const std::vector<ExprRef> &first,
                              ExprRef depth) const {
  ExprRef exists = nullptr;
  if (roles_.depth_points % tile_.depth != 0)
    exists = b_.scalar(ScalarOp::Lt, {b_.add(depth, along_), integer(roles_.depth_points)});
  for (std::size_t d = 1; d < map_.box.size(); ++d) {
    if (!leaves(d))
      continue;
    const ExprRef subscript = run.digits[d] == nullptr ? first[d] : b_.add(first[d], run.digits[d]);
    exists = b_.logical_and(exists, b_.scalar(ScalarOp::Ge, {subscript, integer(0)}));
    exists = b_.logical_and(exists, b_.scalar(ScalarOp::Lt, {subscript, integer(map_.dims[d])}));
  }
  return exists == nullptr ? nullptr : b_.select(exists, integer(each_), integer(0));
}

StmtRef GatheredWindow::start_at(const std::vector<ExprRef> &points, ExprRef slot) const {
  List list;
  std::vector<ExprRef> first;
  ExprRef from = integer(map_.offset);
  for (std::size_t d = 0; d < map_.place.size(); ++d) {
    first.push_back(named(b_, list, "first", linear(cx_, map_.place[d], points)));
    from = b_.add(from, b_.mul(first[d], integer(map_.strides[d])));
  }
  const ExprRef moved = named(b_, list, "moved", from);
  const ExprRef buffer = named(b_, list, "buffer", b_.mul(slot, integer(ring_.data_elems())));
  const ExprRef depth = roles_.has_blocks()
                            ? b_.mul(points[at(roles_.depths.front())],
                                     integer(cx_.nest.indices[at(roles_.depth())].extent))
                            : points[at(roles_.depth())];
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const StmtRef copy = b_.async_copy({.to = ring_.data(),
                                        .to_index = b_.add(runs_[i].to, buffer),
                                        .from = cx_.source_buffers[at(roles_.data)],
                                        .from_index = b_.add(runs_[i].from, moved),
                                        .elems = static_cast<int>(each_),
                                        .valid = valid(runs_[i], first, depth)});
    const bool is_whole = static_cast<std::int64_t>(i + 1) * apart_ <= rows_;
    list.push_back(
        is_whole ? copy : b_.branch(b_.scalar(ScalarOp::Lt, {runs_[i].row, integer(rows_)}), copy));
  }
  return b_.block(std::move(list));
}

} // namespace tilefuse::lower
