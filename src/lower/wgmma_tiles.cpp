// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::ExprRef;
using kernel::StmtRef;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t extent_of(const nest::Nest &nest, int i) { return nest.indices[at(i)].extent; }

} // namespace

WgmmaTiles::WgmmaTiles(Context &context, const schedule::CoreRoles &roles,
                       const schedule::CoreTile &tile, const schedule::ColumnPlan &plan)
    : cx_(context), b_(cx_.build), roles_(roles), tile_(tile), plan_(plan),
      box_(has_box(cx_.nest, cx_.schedule) ? pixel_box(cx_.nest, cx_.schedule)
                                           : schedule::PixelBox{}) {}

std::int64_t WgmmaTiles::tiles_of_rows() const {
  if (box_.indices.empty())
    return (roles_.points + tile_.rows - 1) / tile_.rows;
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < box_.indices.size(); ++i)
    tiles *= (extent_of(cx_.nest, box_.indices[i]) + box_.sizes[i] - 1) / box_.sizes[i];
  return tiles;
}

// Lets the tile's pixels begin where tile `number` of the rows does.
void WgmmaTiles::place_rows(ExprRef number, std::vector<StmtRef> &list) {
  first_row_ = box_.indices.empty()
                   ? named(b_, list, "first_row", b_.mul(number, b_.integer(tile_.rows)))
                   : b_.integer(0);
  ExprRef rest = number;
  for (auto i = roles_.pixels.rbegin(); i != roles_.pixels.rend() && !box_.indices.empty(); ++i) {
    const std::int64_t size = cx_.schedule.splits[at(*i)].tile;
    const ExprRef count = b_.integer((extent_of(cx_.nest, *i) + size - 1) / size);
    const bool is_last = i + 1 == roles_.pixels.rend();
    cx_.origin[at(*i)] = named(b_, list, "b_" + cx_.nest.indices[at(*i)].name,
                               b_.mul(is_last ? rest : b_.mod(rest, count), b_.integer(size)));
    rest = b_.div(rest, count);
  }
}

void WgmmaTiles::take_apart(ExprRef tile, std::vector<StmtRef> &list) {
  const std::int64_t columns = (plan_.columns + tile_.columns - 1) / tile_.columns;
  const std::int64_t rows = tiles_of_rows();
  const ExprRef column = b_.mod(tile, b_.integer(columns));
  ExprRef rest = b_.div(tile, b_.integer(columns));
  first_column_ = named(b_, list, "first_column", b_.mul(column, b_.integer(tile_.columns)));
  place_rows(plan_.products == 1 ? rest : b_.mod(rest, b_.integer(rows)), list);
  rest = b_.div(rest, b_.integer(rows));
  for (auto i = plan_.parts.rbegin(); i != plan_.parts.rend(); ++i) {
    const bool is_last = i + 1 == plan_.parts.rend();
    cx_.origin[at(*i)] = named(b_, list, cx_.nest.indices[at(*i)].name,
                               is_last ? rest : b_.mod(rest, b_.integer(extent_of(cx_.nest, *i))));
    rest = b_.div(rest, b_.integer(extent_of(cx_.nest, *i)));
  }
}

StmtRef WgmmaTiles::each(ExprRef turn,
                         const std::function<void(ExprRef, std::vector<StmtRef> &)> &body) {
  const kernel::VarId tile = b_.variable("tile", {});
  std::vector<StmtRef> list;
  body(b_.var(tile), list);
  const std::int64_t apart = b_.kernel().blocks;
  const ExprRef first =
      turn == nullptr ? b_.block() : b_.add(b_.block(), b_.mul(turn, b_.integer(apart)));
  return b_.loop(
      tile, kernel::ForKind::Serial, first, b_.integer(wgmma_tiles(cx_.nest, cx_.schedule)),
      turn == nullptr ? apart : apart * cx_.schedule.core.turns, b_.block(std::move(list)));
}

} // namespace tilefuse::lower
