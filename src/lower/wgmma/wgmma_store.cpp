// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/wgmma_store.h"

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_pixels.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "nest/index.h"

namespace tilefuse::lower {
namespace {

using schedule::kGroupRows;
using schedule::kGroupWarps;
using schedule::kHalfRows;

constexpr std::int64_t kWarpRows = 16;
constexpr std::int64_t kTakenRows = 4; // of a panel, by a warp at a time
constexpr std::int64_t kTakers = schedule::kPanelColumns / schedule::kPanelVec; // of a row

class WgmmaStore : GemmPart {
public:
  WgmmaStore(Context &context, const schedule::CoreTile &slice, const WgmmaGroup &group)
      : GemmPart(context), slice_(slice), plan_(group.tiles.plan()), box_(group.tiles.box()),
        group_(group), vec_(cx_.schedule.splits[roles_.channel].vec), first_(cx_.origin),
        as_one_(pixels_lie_as_one(cx_)), exchanges_(schedule::exchanges(cx_.gemm())),
        rounded_(exchanges_ &&
                 schedule::exchanged_type(cx_.nest) == type_of(cx_.nest, cx_.nest.out)) {}

  StmtRef build() {
    Stmts list;
    const ExprRef item = item_of_warp(b_);
    place_item(item, list);
    name_panels(list);
    if (exchanges_)
      place_exchange(item, list);
    if (group_.boxes != nullptr) {
      group_.boxes->place_warp(list);
      give_ = named(b_, list, "box_row", b_.div(item, 4));
      along_ = named(b_, list, "box_column", b_.mul(b_.mod(item, 4), vec_));
    }
    if (cx_.schedule.core.swap_ab) {
      pair_ = register_buffer(b_, "pair", b_.kernel()[group_.acc].type, 2);
      for (std::int64_t number = 0; number < slice_.warp_rows / 4; ++number)
        list.push_back(store_pixel(number));
      return b_.block(std::move(list));
    }
    for (std::int64_t block = 0; block < slice_.warp_rows / kGroupRows; ++block)
      store_block(block, list);
    return b_.block(std::move(list));
  }

private:
  const schedule::CoreTile &slice_; // that the group stores
  const schedule::ColumnPlan &plan_;
  const schedule::PixelBox &box_; // of the tile's pixels; the indices stand at its first
  const WgmmaGroup &group_;
  const std::int64_t vec_;
  const Positions first_; // of each index, in a box
  const bool as_one_;
  const bool exchanges_;
  const bool rounded_;              // values come out of the exchange as they are stored
  BufferId exchange_{-1};           // of results by warp
  ExprRef give_{}, take_{};         // this work-item's first elements in it; its row in a box
  ExprRef row_{}, column_{};        // of this work-item, in the group's tile
  std::int64_t placed_ = 0;         // rows from there to that where the indices stand
  std::vector<TurnedPanel> panels_; // of the group's columns, both inputs turned
  std::int64_t filled_ = 0;         // number of the box that is filled
  ExprRef box_row_{}, along_{};     // in it: of this work-item's row, of its first run
  BufferId pair_{-1};               // swapped: neighbouring channels' values

  void name_panels(Stmts &list) {
    for (std::int64_t at = 0; roles_.data_turned && at < slice_.warp_columns;
         at += panel_columns(tile_))
      panels_.push_back(group_.tiles.panel(b_.add(group_.first_column, at), list));
  }

  // What post-ops make of `acc`, some of their operands fetched ahead.
  ExprRef value_of(std::int64_t apart, ExprRef acc) {
    if (rounded_)
      return acc;
    return expr_value(b_, cx_.nest.post, cx_.width(), acc, [&](int operand) {
      const nest::Operand &extra = cx_.nest.extras[at(operand)];
      const ExprRef fetched = group_.ahead == nullptr
                                  ? nullptr
                                  : group_.ahead->load(operand, placed_, apart, cx_.width());
      return fetched == nullptr ? extra_value(cx_, extra, nullptr)
                                : b_.cast(fetched, compute_type(type_of(cx_.nest, extra)));
    });
  }

  // `acc` as neighbouring channels of the pixel at which the output indices stand, `apart` columns
  // from the first of the group's panel that it lies in.
  StmtRef store_run(ExprRef column, std::int64_t apart, ExprRef acc) {
    Stmts list;
    const std::int64_t channels = extent(cx_.nest, roles_.channel);
    ExprRef channel = column;
    ExprRef exists = nullptr;
    if (!panels_.empty()) {
      const std::int64_t across = panel_columns(tile_);
      const TurnedPanel &panel = panels_[at(apart / across)];
      const ExprRef first = b_.add(group_.first_column, apart / across * across);
      channel = b_.add(panel.channel, b_.sub(column, first));
      for (const IndexId tap : plan_.taps)
        cx_.origin[tap] = panel.points[tap];
      if (channels % across != 0)
        exists = b_.less(channel, channels);
    }
    place_channel(cx_, named(b_, list, "channel", channel), list);
    const nest::Linear out = nest::flat(cx_.nest.out, cx_.nest.indices.size());
    const ExprRef result = b_.cast(value_of(apart, acc), type_of(cx_.nest, cx_.nest.out));
    list.push_back(
        box_row_ != nullptr
            ? group_.boxes->put(filled_, box_row_, apart % group_.boxes->columns(), along_, result)
            : b_.store(cx_.slot_buffers[cx_.nest.out.slot], linear(cx_, out, points(cx_)), result,
                       out.coeff[roles_.channel]));
    if (plan_.columns % tile_.columns != 0)
      exists = b_.logical_and(exists, b_.less(column, plan_.columns));
    return b_.branch(exists, b_.block(std::move(list)));
  }

  // Lets the pixel indices stand at row `row` from this work-item's first; gives whether there is
  // such a pixel, null: there is.
  ExprRef place_row(std::int64_t row, Stmts &list) {
    const ExprRef pixel = named(b_, list, "pixel", b_.add(row_, row));
    placed_ = row;
    if (!box_.indices.empty())
      return place_in_box(pixel, list);
    place_pixel(cx_, pixel, as_one_, list);
    const bool is_whole = roles_.points % tile_.rows == 0 && !cx_.schedule.roles.math.tests_rows;
    return is_whole ? nullptr : b_.less(pixel, roles_.points);
  }

  ExprRef place_in_box(ExprRef row, Stmts &list) {
    ExprRef exists = nullptr;
    ExprRef rest = row;
    if (const std::int64_t neighbours = cx_.gemm().row.used; neighbours > 1)
      rest = named(b_, list, "dealt",
                   b_.scalar(ScalarOp::BitXor, {row, b_.mod(b_.div(row, kHalfRows), neighbours)}));
    const std::vector<ExprRef> digits = digits_of(b_, rest, box_.sizes);
    for (std::size_t i = box_.indices.size(); i-- > 0;) {
      const IndexId index = box_.indices[i];
      const std::int64_t points = extent(cx_.nest, index);
      cx_.origin[index] =
          named(b_, list, "p_" + cx_.nest.indices[index].name, b_.add(first_[index], digits[i]));
      if (points % box_.sizes[i] != 0)
        exists = b_.logical_and(exists, b_.less(cx_.origin[index], points));
    }
    return exists;
  }

  // What `body` appends, at a row from this work-item's first, where there is such a pixel.
  StmtRef at_row(std::int64_t row, const std::function<void(Stmts &)> &body) {
    Stmts list, inside;
    const ExprRef exists = place_row(row, list);
    body(inside);
    list.push_back(b_.branch(exists, b_.block(std::move(inside))));
    return b_.block(std::move(list));
  }

  // Runs of this work-item's row of one half of a block of 64 rows.
  StmtRef store_row(std::int64_t block, std::int64_t half, std::int64_t first, std::int64_t count) {
    const std::int64_t values = (block * group_.halves + half) * slice_.warp_columns / 4;
    return at_row(block * kGroupRows + half * kHalfRows, [&](Stmts &runs) {
      for (std::int64_t q = first; q < first + count; ++q)
        runs.push_back(store_run(b_.add(column_, q * 4 * vec_), q * 4 * vec_,
                                 b_.load(group_.acc, values + q * vec_, static_cast<int>(vec_))));
    });
  }

  // A warp's 16 rows, or this block's half of them, of a panel of a block of 64, through a box.
  void fill_box(std::int64_t block, std::int64_t panel, Stmts &list) {
    const std::int64_t columns = group_.boxes->columns();
    const std::int64_t runs = columns / (4 * vec_);
    list.push_back(group_.boxes->open());
    for (std::int64_t half = 0; half < group_.halves; ++half) {
      box_row_ = b_.add(give_, half * kHalfRows);
      list.push_back(store_row(block, half, panel * runs, runs));
    }
    list.push_back(group_.boxes->send(filled_++, b_.add(b_.sub(row_, give_), block * kGroupRows),
                                      b_.add(group_.first_column, panel * columns)));
  }

  // Swapped: the values of neighbouring channels, or of one.
  ExprRef swapped_run(std::int64_t value, Stmts &list) {
    if (vec_ == 1)
      return b_.load(group_.acc, value);
    for (std::int64_t i = 0; i < vec_; ++i)
      list.push_back(b_.store(pair_, i, b_.load(group_.acc, value + i * slice_.warp_rows / 4)));
    return b_.load(pair_, 0, static_cast<int>(vec_));
  }

  // Swapped: this work-item's channels of its point number `number`.
  StmtRef store_pixel(std::int64_t number) {
    return at_row(number / 2 * kHalfRows + number % 2, [&](Stmts &runs) {
      for (std::int64_t block = 0; block < slice_.warp_columns / kGroupRows; ++block)
        for (std::int64_t run = 0; run < 2 / vec_; ++run) {
          const std::int64_t apart = block * kGroupRows + run * kHalfRows;
          const std::int64_t value = (2 * block + run) * slice_.warp_rows / 4 + number;
          runs.push_back(store_run(b_.add(column_, apart), apart, swapped_run(value, runs)));
        }
    });
  }

  // A warp's 16 rows of a panel of a block of 64: into local memory by pairs, and out by runs.
  void exchange_panel(std::int64_t block, std::int64_t panel, Stmts &list) {
    const std::int64_t columns = slice_.warp_columns;
    list.push_back(b_.barrier({.items = kernel::kWarpItems}));
    for (std::int64_t half = 0; half < group_.halves; ++half)
      for (std::int64_t j = 0; j < schedule::kPanelColumns / 8; ++j) {
        const std::int64_t value = (block * group_.halves + half) * columns / 4 +
                                   panel * schedule::kPanelColumns / 4 + 2 * j;
        list.push_back(
            b_.store(exchange_, b_.add(give_, half * kHalfRows * schedule::kPanelRow + 8 * j),
                     b_.cast(b_.load(group_.acc, value, 2), schedule::exchanged_type(cx_.nest))));
      }
    list.push_back(b_.barrier({.items = kernel::kWarpItems}));
    for (std::int64_t first = 0; first < group_.halves * kHalfRows; first += kTakenRows)
      list.push_back(take_row(block, panel, first));
  }

  StmtRef take_row(std::int64_t block, std::int64_t panel, std::int64_t first) {
    Stmts list;
    const ExprRef exists = place_row(block * kGroupRows + first, list);
    const std::int64_t apart = panel * schedule::kPanelColumns;
    const ExprRef taken = named(
        b_, list, "taken",
        b_.load(exchange_, b_.add(take_, first * schedule::kPanelRow), static_cast<int>(vec_)));
    list.push_back(b_.branch(exists, store_run(b_.add(column_, apart), apart, taken)));
    return b_.block(std::move(list));
  }

  void place_exchange(ExprRef item, Stmts &list) {
    const std::int64_t of_warp = schedule::kPanelRows * schedule::kPanelRow;
    exchange_ = declare_local(cx_, schedule::LocalUse::Exchange);
    const ExprRef warp = b_.sub(b_.div(b_.lane(), kCoreLanes), kGroupWarps);
    const ExprRef first = named(b_, list, "exchange_first", b_.mul(warp, of_warp));
    const auto from = [&](ExprRef row, ExprRef column) {
      return b_.add(b_.add(first, b_.mul(row, schedule::kPanelRow)), column);
    };
    give_ = named(b_, list, "give", from(b_.div(item, 4), b_.mul(b_.mod(item, 4), 2)));
    take_ = named(b_, list, "take",
                  from(b_.div(item, kTakers), b_.mul(b_.mod(item, kTakers), schedule::kPanelVec)));
  }

  // Where the instruction leaves this work-item's first results, or where it takes them.
  void place_item(ExprRef item, Stmts &list) {
    const std::int64_t of_row = exchanges_ ? kTakers : 4; // work-items
    const bool swapped = cx_.schedule.core.swap_ab;
    const ExprRef warp = b_.mod(b_.div(b_.lane(), kCoreLanes), kGroupWarps);
    const ExprRef first = b_.mul(warp, kWarpRows);
    const ExprRef down = b_.div(item, of_row);
    const ExprRef along = b_.mod(item, of_row);
    const ExprRef rows = swapped ? b_.mul(along, 2) : b_.add(first, down);
    const ExprRef columns = swapped ? b_.add(first, b_.mul(down, vec_)) : b_.mul(along, vec_);
    row_ = named(b_, list, "row", b_.add(group_.first_row, rows));
    column_ = named(b_, list, "column", b_.add(group_.first_column, columns));
    if (group_.ahead != nullptr)
      group_.ahead->place(b_.add(group_.tile_row, rows), group_.tile_column, columns, list);
  }

  void store_block(std::int64_t block, Stmts &list) {
    const std::int64_t across = exchanges_                ? schedule::kPanelColumns
                                : group_.boxes != nullptr ? group_.boxes->columns()
                                                          : slice_.warp_columns;
    for (std::int64_t p = 0; p < slice_.warp_columns / across; ++p) {
      if (exchanges_)
        exchange_panel(block, p, list);
      else if (group_.boxes != nullptr)
        fill_box(block, p, list);
      else
        for (std::int64_t half = 0; half < group_.halves; ++half)
          list.push_back(store_row(block, half, 0, slice_.warp_columns / (4 * vec_)));
    }
  }
};

} // namespace

StmtRef store_wgmma(Context &context, const schedule::CoreTile &tile, const WgmmaGroup &group) {
  return WgmmaStore(context, tile, group).build();
}

} // namespace tilefuse::lower
