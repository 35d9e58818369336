// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_tiles.h"

#include "base/divide.h"
#include "lower/expressions.h"
#include "nest/index.h"
#include "schedule/wgmma/pixel_box.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

WgmmaTiles::WgmmaTiles(Context &context, const WgmmaCluster &cluster)
    : GemmPart(context), plan_(column_plan(cx_.gemm())), cluster_(cluster),
      grid_(tile_grid(cx_.gemm())),
      box_(has_box(cx_.gemm()) ? pixel_box(cx_.gemm()) : schedule::PixelBox{}) {}

// Lets the tile's pixels begin where tile `number` of the rows does.
void WgmmaTiles::place_rows(ExprRef number, Stmts &list) {
  first_row_ = box_.indices.empty() ? named(b_, list, "first_row", b_.mul(number, tile_.rows))
                                    : b_.integer(0);
  if (box_.indices.empty())
    return;
  const auto size = [&](IndexId i) { return cx_.schedule.splits[i].tile; };
  std::vector<std::int64_t> counts;
  for (const IndexId i : roles_.pixels)
    counts.push_back(ceil_div(extent(cx_.nest, i), size(i)));
  const std::vector<ExprRef> digits = digits_of(b_, number, counts);
  for (std::size_t k = counts.size(); k-- > 0;) {
    const IndexId i = roles_.pixels[k];
    cx_.origin[i] = named(b_, list, "b_" + cx_.nest.indices[i].name, b_.mul(digits[k], size(i)));
  }
}

void WgmmaTiles::take_apart(ExprRef tile, Stmts &list) {
  const ExprRef columns = b_.integer(grid_.cluster_columns);
  const ExprRef rows = b_.integer(grid_.cluster_rows);
  // Of this block's among the tiles of the cluster.
  const auto own = [&](ExprRef number, std::int64_t size, ExprRef place) {
    return b_.add(b_.mul(number, size), place);
  };
  const bool by_rows = cx_.schedule.tiles.raster == schedule::Raster::Rows;
  const ExprRef faster = by_rows ? rows : columns;
  const ExprRef slower = by_rows ? columns : rows;
  const ExprRef fast = b_.mod(tile, faster);
  const ExprRef rest = b_.div(tile, faster);
  const ExprRef slow = plan_.products == 1 ? rest : b_.mod(rest, slower);
  const ExprRef column = own(by_rows ? slow : fast, cluster_.columns(), cluster_.column());
  first_column_ = named(b_, list, "first_column", b_.mul(column, tile_.columns));
  const ExprRef row = own(by_rows ? fast : slow, cluster_.rows(), cluster_.row());
  place_rows(row, list);
  exists_ = nullptr;
  if (grid_.columns % cluster_.columns() != 0)
    exists_ = b_.less(column, grid_.columns);
  if (grid_.rows % cluster_.rows() != 0)
    exists_ = b_.logical_and(exists_, b_.less(row, grid_.rows));
  place_digits(cx_, plan_.parts, b_.div(rest, slower), "", cx_.origin, list);
}

std::int64_t WgmmaTiles::most() const { return ceil_div(grid_.clusters(), apart()); }

StmtRef WgmmaTiles::each(ExprRef turn, const std::function<void(ExprRef, Stmts &)> &body) {
  const kernel::VarId tile = b_.variable("tile", {});
  Stmts list;
  body(b_.var(tile), list);
  const ExprRef number = cluster_.number();
  const ExprRef first = turn == nullptr ? number : b_.add(number, b_.mul(turn, apart()));
  return b_.loop(tile, kernel::ForKind::Serial, first, grid_.clusters(),
                 turn == nullptr ? apart() : apart() * cx_.schedule.roles.math.instances,
                 b_.block(std::move(list)));
}

Positions WgmmaTiles::first_points() const {
  Positions points(cx_.nest.indices.size(), b_.integer(0));
  for (const std::vector<IndexId> *indices : {&plan_.parts, &box_.indices})
    for (const IndexId i : *indices)
      points[i] = cx_.origin[i];
  return points;
}

std::int64_t WgmmaTiles::depth_step() const {
  return roles_.has_blocks() ? tile_.depth / extent(cx_.nest, roles_.depth()) : tile_.depth;
}

StmtRef WgmmaTiles::over(std::span<const IndexId> indices, Positions &points, const Body &body) {
  if (indices.empty())
    return body();
  const IndexId index = indices.front();
  const bool is_depth = index == roles_.depths.front();
  const kernel::VarId var = b_.variable("v_" + cx_.nest.indices[index].name, {});
  points[index] = b_.var(var);
  const StmtRef inner = over(indices.subspan(1), points, body);
  return b_.loop(var, kernel::ForKind::Serial, 0, extent(cx_.nest, index),
                 is_depth ? depth_step() : 1, inner);
}

StmtRef WgmmaTiles::each_point(const std::function<StmtRef(ExprRef)> &body) {
  const std::int64_t steps = core_steps(cx_.gemm());
  const kernel::VarId point = b_.variable("point", {});
  const StmtRef step = body(b_.var(point));
  return b_.loop(point, kernel::ForKind::Serial, b_.mul(cluster_.first_step(steps), tile_.depth),
                 b_.mul(cluster_.end_step(steps), tile_.depth), tile_.depth, step);
}

StmtRef WgmmaTiles::each_number(Positions &points, ExprRef begin, ExprRef end, const Body &body) {
  const kernel::VarId step = b_.variable("step", {});
  Stmts list;
  take_step(b_.var(step), points, list);
  list.push_back(body());
  return b_.loop(step, kernel::ForKind::Serial, begin, end, 1, b_.block(std::move(list)));
}

void WgmmaTiles::take_step(ExprRef step, Positions &points, Stmts &list) {
  ExprRef rest = step;
  const auto take = [&](IndexId index, std::int64_t apart) {
    const ExprRef digit = take_digit(b_, rest, ceil_div(extent(cx_.nest, index), apart));
    points[index] = named(b_, list, "v_" + cx_.nest.indices[index].name, b_.mul(digit, apart));
  };
  take(roles_.depths.front(), depth_step());
  for (auto i = roles_.walked.rbegin(); i != roles_.walked.rend(); ++i)
    take(*i, 1);
}

TurnedPanel WgmmaTiles::panel(ExprRef column, Stmts &list) const {
  const std::int64_t across = cx_.gemm().panel;
  TurnedPanel panel{column, Positions(cx_.nest.indices.size(), b_.integer(0))};
  if (plan_.taps.empty())
    return panel;
  ExprRef number = b_.div(column, across);
  if (plan_.columns % (cluster_.columns() * tile_.columns) != 0)
    number = b_.min(number, plan_.columns / across - 1);
  number = named(b_, list, "panel", number);
  const ExprRef of_channels = b_.div(number, plan_.beside);
  panel.channel = named(b_, list, "c_" + cx_.nest.indices[roles_.channel].name,
                        b_.mul(b_.mod(of_channels, plan_.panels), across));
  const auto end = plan_.taps.end() - (plan_.beside > 1 ? 1 : 0);
  place_digits(cx_, {plan_.taps.begin(), end}, b_.div(of_channels, plan_.panels), "t_",
               panel.points, list);
  if (plan_.beside > 1)
    panel.points[plan_.taps.back()] = named(
        b_, list, "t_" + cx_.nest.indices[plan_.taps.back()].name, b_.mod(number, plan_.beside));
  return panel;
}

ExprRef WgmmaTiles::first_of_row(const Positions &points) const {
  const std::optional<nest::Linear> first = schedule::first_of_row(cx_.gemm());
  if (!first)
    return nullptr;
  const std::int64_t step = cx_.gemm().row.step;
  return b_.mod(linear(cx_, *first, points), step);
}

StmtRef WgmmaTiles::each_window(Positions &points, const Body &body) {
  return over(std::span(roles_.depths).first(1), points, body);
}

StmtRef WgmmaTiles::window_after(ExprRef tile, ExprRef depth, std::int64_t count,
                                 const std::function<StmtRef(const Positions &)> &body) {
  const IndexId along = roles_.depths.front();
  const std::int64_t step = depth_step();
  const ExprRef windows = b_.integer(windows_of_tile(cx_.gemm()));
  Stmts list;
  const ExprRef number = b_.add(b_.div(depth, step), count);
  const ExprRef later =
      named(b_, list, "later", b_.add(tile, b_.mul(b_.div(number, windows), apart())));
  Stmts taken;
  take_apart(later, taken);
  Positions points = first_points();
  points[along] = b_.mul(b_.mod(number, windows), step);
  taken.push_back(body(points));
  const ExprRef exists = b_.less(later, grid_.clusters());
  list.push_back(b_.branch(exists, b_.block(std::move(taken))));
  return b_.block(std::move(list));
}

StmtRef WgmmaTiles::each_tap(Positions &points, const Body &body) {
  return over(roles_.walked, points, body);
}

StmtRef WgmmaTiles::each_step(Positions &points, const Body &body) {
  const std::int64_t steps = core_steps(cx_.gemm());
  if (cluster_.parts() > 1)
    return each_number(points, cluster_.first_step(steps), cluster_.end_step(steps), body);
  if (halo_stages(cx_.schedule) > 0)
    return each_window(points, [&] { return each_tap(points, body); });
  return each_tap(points, [&] { return each_window(points, body); });
}

} // namespace tilefuse::lower
