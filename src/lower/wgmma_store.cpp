// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma_store.h"

#include <algorithm>

#include "lower/core_pixels.h"
#include "lower/turned_panel.h"

namespace tilefuse::lower {
namespace {

using kernel::ExprRef;
using kernel::StmtRef;

constexpr std::int64_t kGroupRows = 64;
constexpr std::int64_t kWarpRows = 16;
constexpr std::int64_t kHalfRows = 8; // between the rows of a work-item's results

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class WgmmaStore {
public:
  WgmmaStore(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile,
             const schedule::ColumnPlan &plan, const WgmmaGroup &group)
      : cx_(context), b_(cx_.build), roles_(roles), tile_(tile), plan_(plan), group_(group),
        vec_(cx_.schedule.splits[at(roles.channel)].vec), as_one_(pixels_lie_as_one(cx_, roles)) {}

  StmtRef build();

private:
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  StmtRef store_row(std::int64_t block, std::int64_t half);
  StmtRef store_run(std::int64_t apart, std::int64_t value);
  void name_panels(std::vector<StmtRef> &list);

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreRoles &roles_;
  const schedule::CoreTile &tile_;
  const schedule::ColumnPlan &plan_;
  const WgmmaGroup &group_;
  const std::int64_t vec_;
  const bool as_one_;
  ExprRef row_{}, column_{};        // of this work-item, in the group's tile
  std::vector<TurnedPanel> panels_; // of the group's columns, both inputs turned
};

void WgmmaStore::name_panels(std::vector<StmtRef> &list) {
  for (std::int64_t at = 0; roles_.data_turned && at < tile_.warp_columns;
       at += panel_columns(tile_))
    panels_.push_back(turned_panel(
        cx_, roles_, plan_, b_.add(group_.first_column, integer(at)),
        [&](const std::string &name, ExprRef value) { return named(b_, list, name, value); }));
}

// `vec` neighbouring channels of the pixel at which the output indices stand, `apart` columns from
// this work-item's first.
StmtRef WgmmaStore::store_run(std::int64_t apart, std::int64_t value) {
  std::vector<StmtRef> list;
  const ExprRef column = b_.add(column_, integer(apart));
  const std::int64_t channels = cx_.nest.indices[at(roles_.channel)].extent;
  ExprRef channel = column;
  ExprRef exists = nullptr;
  if (!panels_.empty()) {
    const TurnedPanel &panel = panels_[static_cast<std::size_t>(apart / panel_columns(tile_))];
    const ExprRef first =
        b_.add(group_.first_column, integer(apart / panel_columns(tile_) * panel_columns(tile_)));
    channel = b_.add(panel.channel, b_.sub(column, first));
    for (int tap : plan_.taps)
      cx_.origin[at(tap)] = panel.points[at(tap)];
    if (channels % panel_columns(tile_) != 0)
      exists = b_.scalar(ScalarOp::Lt, {channel, integer(channels)});
  }
  cx_.origin[at(roles_.channel)] = named(b_, list, "channel", channel);
  const nest::Linear out = nest::flat(cx_.nest.out, cx_.nest.indices.size());
  const auto slot = at(cx_.nest.out.slot);
  const ExprRef acc = b_.load(group_.acc, integer(value), static_cast<int>(vec_));
  const ExprRef result = post_value(cx_, cx_.nest.post, acc, nullptr);
  list.push_back(b_.store(cx_.slot_buffers[slot], linear(cx_, out, points(cx_)),
                          b_.cast(result, cx_.nest.slots[slot].type)));
  if (plan_.columns % tile_.columns != 0)
    exists = b_.logical_and(exists, b_.scalar(ScalarOp::Lt, {column, integer(plan_.columns)}));
  return exists == nullptr ? b_.block(std::move(list))
                           : b_.branch(exists, b_.block(std::move(list)));
}

// This work-item's row of one half of a block of 64 rows.
StmtRef WgmmaStore::store_row(std::int64_t block, std::int64_t half) {
  std::vector<StmtRef> list;
  const std::int64_t columns = tile_.warp_columns;
  const ExprRef pixel =
      named(b_, list, "pixel", b_.add(row_, integer(block * kGroupRows + half * kHalfRows)));
  place_pixel(cx_, roles_, pixel, as_one_,
              [&](const std::string &name, ExprRef value) { return named(b_, list, name, value); });
  for (std::int64_t q = 0; q < columns / (4 * vec_); ++q)
    list.push_back(store_run(q * 4 * vec_, block * columns / 2 + half * columns / 4 + q * vec_));
  if (roles_.points % tile_.rows == 0)
    return b_.block(std::move(list));
  const StmtRef let = list.front();
  list.erase(list.begin());
  const ExprRef exists = b_.scalar(ScalarOp::Lt, {pixel, integer(roles_.points)});
  return b_.block({let, b_.branch(exists, b_.block(std::move(list)))});
}

StmtRef WgmmaStore::build() {
  std::vector<StmtRef> list;
  const ExprRef item = b_.mod(b_.lane(), integer(kCoreLanes));
  const ExprRef warp =
      b_.mod(b_.div(b_.lane(), integer(kCoreLanes)), integer(schedule::kGroupItems / kCoreLanes));
  row_ = named(
      b_, list, "row",
      b_.add(b_.add(group_.first_row, b_.mul(warp, integer(kWarpRows))), b_.div(item, integer(4))));
  column_ = named(b_, list, "column",
                  b_.add(group_.first_column, b_.mul(b_.mod(item, integer(4)), integer(vec_))));
  name_panels(list);
  for (std::int64_t block = 0; block < tile_.warp_rows / kGroupRows; ++block)
    for (std::int64_t half = 0; half < 2; ++half)
      list.push_back(store_row(block, half));
  return b_.block(std::move(list));
}

} // namespace

StmtRef store_wgmma(Context &context, const schedule::CoreRoles &roles,
                    const schedule::CoreTile &tile, const schedule::ColumnPlan &plan,
                    const WgmmaGroup &group) {
  return WgmmaStore(context, roles, tile, plan, group).build();
}

} // namespace tilefuse::lower
