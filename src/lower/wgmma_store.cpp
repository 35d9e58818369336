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
constexpr std::int64_t kGroupWarps = schedule::kGroupItems / kCoreLanes;
constexpr std::int64_t kHalfRows = 8;  // between the rows of a work-item's results
constexpr std::int64_t kTakenRows = 4; // of a panel, by a warp at a time
constexpr std::int64_t kTakers = schedule::kPanelColumns / schedule::kPanelVec; // of a row

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class WgmmaStore {
public:
  WgmmaStore(Context &context, const schedule::CoreRoles &roles, const schedule::CoreTile &tile,
             const schedule::ColumnPlan &plan, const WgmmaGroup &group)
      : cx_(context), b_(cx_.build), roles_(roles), tile_(tile), plan_(plan), group_(group),
        vec_(cx_.schedule.splits[at(roles.channel)].vec), as_one_(pixels_lie_as_one(cx_, roles)),
        exchanges_(schedule::exchanges(cx_.nest, cx_.schedule)),
        rounded_(exchanges_ &&
                 schedule::exchanged_type(cx_.nest) == cx_.nest.slots[at(cx_.nest.out.slot)].type) {}

  StmtRef build();

private:
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  void place_exchange(ExprRef item, std::vector<StmtRef> &list);
  void exchange_panel(std::int64_t block, std::int64_t panel, std::vector<StmtRef> &list);
  StmtRef take_row(std::int64_t block, std::int64_t panel, std::int64_t first);
  StmtRef if_exists(ExprRef pixel, std::vector<StmtRef> list);
  StmtRef store_row(std::int64_t block, std::int64_t half);
  StmtRef store_run(ExprRef column, std::int64_t apart, ExprRef acc);
  void name_panels(std::vector<StmtRef> &list);

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreRoles &roles_;
  const schedule::CoreTile &tile_;
  const schedule::ColumnPlan &plan_;
  const WgmmaGroup &group_;
  const std::int64_t vec_;
  const bool as_one_;
  const bool exchanges_;
  const bool rounded_;              // values come out of the exchange as they are stored
  kernel::BufferId exchange_{-1};   // of results by warp
  ExprRef give_{}, take_{};         // this work-item's first elements in it
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

// `acc` as neighbouring channels of the pixel at which the output indices stand, `apart` columns
// from the first of the group's panel that it lies in.
StmtRef WgmmaStore::store_run(ExprRef column, std::int64_t apart, ExprRef acc) {
  std::vector<StmtRef> list;
  const std::int64_t channels = cx_.nest.indices[at(roles_.channel)].extent;
  ExprRef channel = column;
  ExprRef exists = nullptr;
  if (!panels_.empty()) {
    const std::int64_t across = panel_columns(tile_);
    const TurnedPanel &panel = panels_[static_cast<std::size_t>(apart / across)];
    const ExprRef first = b_.add(group_.first_column, integer(apart / across * across));
    channel = b_.add(panel.channel, b_.sub(column, first));
    for (int tap : plan_.taps)
      cx_.origin[at(tap)] = panel.points[at(tap)];
    if (channels % across != 0)
      exists = b_.scalar(ScalarOp::Lt, {channel, integer(channels)});
  }
  cx_.origin[at(roles_.channel)] = named(b_, list, "channel", channel);
  const nest::Linear out = nest::flat(cx_.nest.out, cx_.nest.indices.size());
  const auto slot = at(cx_.nest.out.slot);
  const ExprRef result = rounded_ ? acc : post_value(cx_, cx_.nest.post, acc, nullptr);
  list.push_back(b_.store(cx_.slot_buffers[slot], linear(cx_, out, points(cx_)),
                          b_.cast(result, cx_.nest.slots[slot].type)));
  if (plan_.columns % tile_.columns != 0)
    exists = b_.logical_and(exists, b_.scalar(ScalarOp::Lt, {column, integer(plan_.columns)}));
  return exists == nullptr ? b_.block(std::move(list))
                           : b_.branch(exists, b_.block(std::move(list)));
}

// The list under the condition that its pixel, which its first statement names, exists.
StmtRef WgmmaStore::if_exists(ExprRef pixel, std::vector<StmtRef> list) {
  if (roles_.points % tile_.rows == 0)
    return b_.block(std::move(list));
  const StmtRef let = list.front();
  list.erase(list.begin());
  const ExprRef exists = b_.scalar(ScalarOp::Lt, {pixel, integer(roles_.points)});
  return b_.block({let, b_.branch(exists, b_.block(std::move(list)))});
}

// This work-item's row of one half of a block of 64 rows.
StmtRef WgmmaStore::store_row(std::int64_t block, std::int64_t half) {
  std::vector<StmtRef> list;
  const std::int64_t columns = tile_.warp_columns;
  const ExprRef pixel =
      named(b_, list, "pixel", b_.add(row_, integer(block * kGroupRows + half * kHalfRows)));
  place_pixel(cx_, roles_, pixel, as_one_,
              [&](const std::string &name, ExprRef value) { return named(b_, list, name, value); });
  for (std::int64_t q = 0; q < columns / (4 * vec_); ++q) {
    const std::int64_t apart = q * 4 * vec_;
    const std::int64_t value = block * columns / 2 + half * columns / 4 + q * vec_;
    list.push_back(store_run(b_.add(column_, integer(apart)), apart,
                             b_.load(group_.acc, integer(value), static_cast<int>(vec_))));
  }
  return if_exists(pixel, std::move(list));
}

// A warp's 16 rows of a panel of a block of 64: into local memory by pairs, and out by runs.
void WgmmaStore::exchange_panel(std::int64_t block, std::int64_t panel,
                                std::vector<StmtRef> &list) {
  const std::int64_t columns = tile_.warp_columns;
  list.push_back(b_.barrier({.items = kernel::kWarpItems}));
  for (std::int64_t half = 0; half < 2; ++half)
    for (std::int64_t j = 0; j < schedule::kPanelColumns / 8; ++j) {
      const std::int64_t value =
          block * columns / 2 + half * columns / 4 + panel * schedule::kPanelColumns / 4 + 2 * j;
      list.push_back(b_.store(
          exchange_, b_.add(give_, integer(half * kHalfRows * schedule::kPanelRow + 8 * j)),
          b_.cast(b_.load(group_.acc, integer(value), 2), schedule::exchanged_type(cx_.nest))));
    }
  list.push_back(b_.barrier({.items = kernel::kWarpItems}));
  for (std::int64_t first = 0; first < schedule::kPanelRows; first += kTakenRows)
    list.push_back(take_row(block, panel, first));
}

StmtRef WgmmaStore::take_row(std::int64_t block, std::int64_t panel, std::int64_t first) {
  std::vector<StmtRef> list;
  const ExprRef pixel = named(b_, list, "pixel", b_.add(row_, integer(block * kGroupRows + first)));
  place_pixel(cx_, roles_, pixel, as_one_,
              [&](const std::string &name, ExprRef value) { return named(b_, list, name, value); });
  const std::int64_t apart = panel * schedule::kPanelColumns;
  const ExprRef taken =
      named(b_, list, "taken",
            b_.load(exchange_, b_.add(take_, integer(first * schedule::kPanelRow)),
                    static_cast<int>(vec_)));
  list.push_back(store_run(b_.add(column_, integer(apart)), apart, taken));
  return if_exists(pixel, std::move(list));
}

void WgmmaStore::place_exchange(ExprRef item, std::vector<StmtRef> &list) {
  const schedule::Core &core = cx_.schedule.core;
  const std::int64_t groups = core.warp_rows * core.warp_columns * core.turns;
  const std::int64_t of_warp = schedule::kPanelRows * schedule::kPanelRow;
  exchange_ = b_.buffer({.name = "exchange",
                         .space = kernel::Space::Local,
                         .type = {schedule::exchanged_type(cx_.nest), 1},
                         .elems = groups * kGroupWarps * of_warp});
  const ExprRef warp = b_.sub(b_.div(b_.lane(), integer(kCoreLanes)), integer(kGroupWarps));
  const ExprRef first = named(b_, list, "exchange_first", b_.mul(warp, integer(of_warp)));
  const auto from = [&](ExprRef row, ExprRef column) {
    return b_.add(b_.add(first, b_.mul(row, integer(schedule::kPanelRow))), column);
  };
  give_ = named(b_, list, "give",
                from(b_.div(item, integer(4)), b_.mul(b_.mod(item, integer(4)), integer(2))));
  take_ = named(b_, list, "take",
                from(b_.div(item, integer(kTakers)),
                     b_.mul(b_.mod(item, integer(kTakers)), integer(schedule::kPanelVec))));
}

StmtRef WgmmaStore::build() {
  std::vector<StmtRef> list;
  const std::int64_t of_row = exchanges_ ? kTakers : 4; // work-items
  const ExprRef item = b_.mod(b_.lane(), integer(kCoreLanes));
  const ExprRef warp = b_.mod(b_.div(b_.lane(), integer(kCoreLanes)), integer(kGroupWarps));
  row_ = named(b_, list, "row",
               b_.add(b_.add(group_.first_row, b_.mul(warp, integer(kWarpRows))),
                      b_.div(item, integer(of_row))));
  column_ =
      named(b_, list, "column",
            b_.add(group_.first_column, b_.mul(b_.mod(item, integer(of_row)), integer(vec_))));
  name_panels(list);
  if (exchanges_)
    place_exchange(item, list);
  for (std::int64_t block = 0; block < tile_.warp_rows / kGroupRows; ++block) {
    for (std::int64_t p = 0; exchanges_ && p < tile_.warp_columns / schedule::kPanelColumns; ++p)
      exchange_panel(block, p, list);
    for (std::int64_t half = 0; !exchanges_ && half < 2; ++half)
      list.push_back(store_row(block, half));
  }
  return b_.block(std::move(list));
}

} // namespace

StmtRef store_wgmma(Context &context, const schedule::CoreRoles &roles,
                    const schedule::CoreTile &tile, const schedule::ColumnPlan &plan,
                    const WgmmaGroup &group) {
  return WgmmaStore(context, roles, tile, plan, group).build();
}

} // namespace tilefuse::lower
