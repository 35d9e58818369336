// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/tile_store.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_fetch.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "nest/index.h"
#include "nest/points.h"

namespace tilefuse::lower {
namespace {

using schedule::kCoreColumns;
using schedule::kCoreRows;
using schedule::kGroupRows;
using schedule::kHalfRows;
using schedule::kPairs;
using schedule::kRowItems;

constexpr std::int64_t kTileValues = 4; // of a work-item in a 16 x 8 tile of mma

class TileStore : GemmPart {
public:
  TileStore(Context &context, const TileEnd &end)
      : GemmPart(context), end_(end), is_wgmma_(end.tiles != nullptr),
        vec_(cx_.schedule.splits[roles_.channel].vec), unit_(is_wgmma_ ? kGroupRows : kCoreRows),
        columns_(is_wgmma_ ? end.tiles->plan().columns : roles_.channel_points), first_(cx_.origin),
        as_one_(cx_.member == poly::kAnchor && pixels_lie_as_one()),
        rows_dealt_(!is_wgmma_ && reads_words(cx_.gemm(), roles_.data)),
        columns_dealt_(!is_wgmma_ && reads_words(cx_.gemm(), roles_.filter)),
        exchange_(schedule::exchange_of(cx_.gemm())) {}

  StmtRef build() {
    Stmts list;
    const ExprRef item = item_of_warp(b_);
    place_item(item, list);
    if (is_wgmma_ && roles_.data_turned)
      place_panels(list);
    if (exchange_.columns > 0)
      place_exchange(item, list);
    if (end_.boxes != nullptr) {
      end_.boxes->place_warp(list);
      give_ = named(b_, list, "box_row", b_.div(item, kRowItems));
      along_ = named(b_, list, "box_column", b_.mul(b_.mod(item, kRowItems), vec_));
    }
    if (cx_.schedule.core.swap_ab)
      pair_ = register_buffer(b_, "pair", b_.kernel()[end_.acc].type, 2);
    for (std::int64_t piece = 0; piece < end_.pieces(); ++piece)
      store_piece(piece, list);
    return b_.block(std::move(list));
  }

private:
  const TileEnd &end_;
  const bool is_wgmma_;
  const std::int64_t vec_;
  const std::int64_t unit_;    // rows of a block of results
  const std::int64_t columns_; // that there are
  const Positions first_;      // of each index, in a box
  const bool as_one_;          // pixels are stored to without being taken apart
  const bool rows_dealt_;      // to fragments of mma, as words are read
  const bool columns_dealt_;   // likewise
  const schedule::Exchange exchange_;
  BufferId buffer_{-1};      // of results that warps exchange
  ExprRef give_{}, take_{};  // this work-item's first elements in it; its row in a box
  ExprRef row_{}, column_{}; // of this work-item's first result or run
  ExprRef exists_{};         // mma: whether the row at which indices stand is one; null: yes
  std::int64_t placed_ = 0;  // rows from the first to that row
  // Both inputs turned: panels of the group's columns in which this work-item has some, and the first
  // column of each.
  std::vector<std::pair<TurnedPanel, ExprRef>> panels_;
  std::int64_t filled_ = 0;     // number of the box that is filled
  ExprRef box_row_{}, along_{}; // in it: of this work-item's row, of its first run
  BufferId pair_{-1};           // swapped: neighbouring channels' values

  // Whether the result and all that post-ops read lie as if the pixel indices were one.
  bool pixels_lie_as_one() const {
    const auto lies = [&](const nest::Operand &operand) {
      return lie_as_one(cx_.nest, nest::flat(operand, cx_.nest.indices.size()), roles_.pixels);
    };
    return lies(cx_.nest.out) && std::all_of(cx_.nest.extras.begin(), cx_.nest.extras.end(), lies);
  }

  // Where the instruction leaves this work-item's first results, or where it takes them.
  void place_item(ExprRef item, Stmts &list) {
    const std::int64_t of_row = // work-items
        exchange_.columns > 0 ? exchange_.columns / vec_ : kRowItems;
    const bool swapped = cx_.schedule.core.swap_ab;
    const ExprRef first =
        is_wgmma_ ? b_.mul(b_.mod(b_.div(b_.lane(), kCoreLanes), schedule::kGroupWarps), kCoreRows)
                  : integer(0);
    const ExprRef down = b_.div(item, of_row);
    const ExprRef along = b_.mod(item, of_row);
    const ExprRef dealt = rows_dealt_ ? dealt_row(b_, down) : down;
    const ExprRef rows = swapped ? b_.mul(along, 2) : b_.add(first, dealt);
    const ExprRef columns = swapped          ? b_.add(first, b_.mul(down, vec_))
                            : columns_dealt_ ? dealt_column(b_, along)
                                             : b_.mul(along, vec_);
    row_ = named(b_, list, "row", b_.add(end_.first_row, rows));
    column_ = named(b_, list, "column", b_.add(end_.first_column, columns));
    if (end_.ahead != nullptr)
      end_.ahead->place(b_.add(end_.tile_row, rows), end_.tile_column, columns, list);
  }

  // Columns from a panel in which a work-item has some to the next one: swapped, those of a warp lie
  // in one panel of each block.
  std::int64_t across_panels() const {
    const std::int64_t panel = cx_.gemm().panel;
    return cx_.schedule.core.swap_ab ? std::max(panel, kGroupRows) : panel;
  }

  void place_panels(Stmts &list) {
    const std::int64_t panel = cx_.gemm().panel, across = across_panels();
    const ExprRef inside = b_.sub(column_, end_.first_column); // the work-item's first column
    const ExprRef own = across > panel ? b_.mul(b_.div(inside, panel), panel) : integer(0);
    for (std::int64_t at = 0; at < end_.tile.warp_columns; at += across) {
      const ExprRef first = b_.add(b_.add(end_.first_column, own), at);
      panels_.emplace_back(end_.tiles->panel(first, list), first);
    }
  }

  void place_exchange(ExprRef item, Stmts &list) {
    const std::int64_t takers = exchange_.columns / vec_; // of a row
    buffer_ = declare_local(cx_, schedule::LocalUse::Exchange);
    const ExprRef first = named(b_, list, "exchange_first", b_.mul(end_.warp, exchange_.elems()));
    const auto from = [&](ExprRef row, ExprRef column) {
      return b_.add(b_.add(first, b_.mul(row, exchange_.row())), column);
    };
    give_ = named(b_, list, "give",
                  from(b_.div(item, kRowItems), b_.mul(b_.mod(item, kRowItems), kPairs)));
    take_ = named(b_, list, "take", from(b_.div(item, takers), b_.mul(b_.mod(item, takers), vec_)));
  }

  // Neighbouring channels' accumulators, or what was exchanged of them: where they stand in the
  // register buffer, and how far apart.
  struct Run {
    ExprRef acc{};
    std::int64_t first = 0;
    std::int64_t step = 1;
  };

  // The first value of a work-item in a row of a block, and in its columns from 8 * `tile` on.
  std::int64_t value_at(std::int64_t block, std::int64_t half, std::int64_t tile) const {
    const std::int64_t columns = end_.tile.warp_columns;
    return is_wgmma_ ? (block * end_.halves + half) * columns / 4 + kPairs * tile
                     : (block * columns / kCoreColumns + tile) * kTileValues + half * kPairs;
  }
  // Its run number `q` in a row, where columns are dealt.
  Run run_at(std::int64_t block, std::int64_t half, std::int64_t q) const {
    if (columns_dealt_)
      return {b_.load(end_.acc, value_at(block, half, q), kPairs), value_at(block, half, q)};
    const std::int64_t first = is_wgmma_ ? value_at(block, half, 0) + q * vec_
                                         : value_at(block, half, q / kPairs * vec_) + q % kPairs;
    const std::int64_t step = is_wgmma_ ? 1 : kTileValues;
    return {b_.load(end_.acc, first, static_cast<int>(vec_), step), first, step};
  }
  // Rows from this work-item's first to that of one half of a block.
  std::int64_t row_at(std::int64_t block, std::int64_t half) const {
    return rows_dealt_ ? dealt_row(block, half) : block * unit_ + half * kHalfRows;
  }

  // What post-ops make of `acc`, some of their operands fetched ahead.
  ExprRef value_of(std::int64_t apart, ExprRef acc, ExprRef valid) {
    if (exchange_.is_stored)
      return acc;
    return expr_value(b_, cx_.nest.post, cx_.result_width(), acc, [&](int operand) {
      const nest::Operand &extra = cx_.nest.extras[at(operand)];
      const ExprRef fetched = end_.ahead == nullptr
                                  ? nullptr
                                  : end_.ahead->load(operand, placed_, apart, cx_.result_width());
      return fetched == nullptr ? extra_value(cx_, extra, valid)
                                : b_.cast(fetched, compute_type(type_of(cx_.nest, extra)));
    });
  }

  // Channels of a run that exist, of mma: all or none where runs divide the channels. Null: all.
  ExprRef valid_channels(ExprRef channel) {
    if (columns_ % tile_.columns == 0)
      return count_if(b_, exists_, vec_);
    if (columns_ % vec_ == 0)
      return count_if(b_, b_.logical_and(exists_, b_.less(channel, columns_)), vec_);
    const ExprRef left = b_.sub(columns_, channel);
    return exists_ == nullptr ? left : b_.select(exists_, left, 0);
  }

  // What is stored of a run, where accumulators were; registers hold it unrounded.
  void keep_run(const Run &run, ExprRef result, Stmts &list) {
    const std::optional<ScalarOp> rounding = rounding_to(result->type.elem);
    ExprRef kept = b_.cast(result, DType::F32);
    if (rounding)
      kept = b_.scalar(*rounding, {kept});
    if (run.step == 1) {
      list.push_back(b_.store(end_.acc, run.first, kept));
      return;
    }
    list.push_back(b_.store(pair_, 0, kept));
    for (std::int64_t i = 0; i < vec_; ++i)
      list.push_back(b_.store(end_.acc, run.first + i * run.step, b_.load(pair_, i)));
  }

  // Lets the channel indices stand at channel number `channel`.
  void place_channel(ExprRef channel, Stmts &list) {
    const std::vector<IndexId> &channels = roles_.channels;
    const std::vector<ExprRef> digits = digits_of(b_, channel, extents(cx_.nest, channels));
    for (std::size_t k = channels.size(); k-- > 0;)
      cx_.origin[channels[k]] =
          k == 0 ? digits[k]
                 : named(b_, list, "c_" + cx_.nest.indices[channels[k]].name, digits[k]);
  }

  // A run as neighbouring channels of the pixel at which the output indices stand, `apart` columns
  // from the first of the group's panel that it lies in.
  void store_run(ExprRef column, std::int64_t apart, const Run &run, Stmts &list) {
    Stmts own;
    const std::int64_t channels = extent(cx_.nest, roles_.channel);
    ExprRef channel = column;
    ExprRef exists = nullptr;
    if (!panels_.empty()) {
      const auto &[panel, first] = panels_[at(apart / across_panels())];
      channel = b_.add(panel.channel, b_.sub(column, first));
      for (const IndexId tap : end_.tiles->plan().taps)
        cx_.origin[tap] = panel.points[tap];
      if (channels % cx_.gemm().panel != 0)
        exists = b_.less(channel, channels);
    }
    channel = named(b_, own, "channel", channel);
    place_channel(channel, own);
    const ExprRef valid = is_wgmma_ ? nullptr : valid_channels(channel);
    ExprRef result = b_.cast(value_of(apart, run.acc, valid), type_of(cx_.nest, cx_.nest.out));
    if (end_.keeps) {
      result = named(b_, own, "stored", result);
      keep_run(run, result, own);
    }
    own.push_back(
        box_row_ != nullptr
            ? end_.boxes->put(filled_, box_row_, apart % end_.boxes->columns(), along_, result)
            : b_.store(cx_.result,
                       b_.add(cx_.result_base, linear(cx_, cx_.result_form, places(cx_))),
                       b_.cast(result, b_.kernel()[cx_.result].type.elem),
                       cx_.result_form.coeff[roles_.channel], valid));
    if (is_wgmma_ && columns_ % tile_.columns != 0)
      exists = b_.logical_and(exists, b_.less(column, columns_));
    list.push_back(b_.branch(exists, b_.block(std::move(own))));
  }

  // Lets the pixel indices stand at row `row` from this work-item's first; gives whether there is
  // such a pixel, null: there is.
  ExprRef place_row(std::int64_t row, Stmts &list) {
    const ExprRef pixel = named(b_, list, "pixel", b_.add(row_, row));
    placed_ = row;
    if (is_wgmma_ && !end_.tiles->box().indices.empty())
      return place_in_box(pixel, list);
    if (!as_one_)
      place_digits(cx_, roles_.pixels, pixel, "p_", cx_.origin, list);
    for (std::size_t k = 0; as_one_ && k < roles_.pixels.size(); ++k)
      cx_.origin[roles_.pixels[k]] = k + 1 == roles_.pixels.size() ? pixel : integer(0);
    const bool is_whole = roles_.points % tile_.rows == 0 && !cx_.schedule.roles.math.tests_rows;
    return is_whole ? nullptr : b_.less(pixel, roles_.points);
  }

  ExprRef place_in_box(ExprRef row, Stmts &list) {
    const schedule::PixelBox &box = end_.tiles->box();
    ExprRef exists = nullptr;
    ExprRef rest = row;
    if (const std::int64_t neighbours = cx_.gemm().row.used; neighbours > 1)
      rest = named(b_, list, "dealt",
                   b_.scalar(ScalarOp::BitXor, {row, b_.mod(b_.div(row, kHalfRows), neighbours)}));
    const std::vector<ExprRef> digits = digits_of(b_, rest, box.sizes);
    for (std::size_t i = box.indices.size(); i-- > 0;) {
      const IndexId index = box.indices[i];
      const std::int64_t points = extent(cx_.nest, index);
      cx_.origin[index] =
          named(b_, list, "p_" + cx_.nest.indices[index].name, b_.add(first_[index], digits[i]));
      if (points % box.sizes[i] != 0)
        exists = b_.logical_and(exists, b_.less(cx_.origin[index], points));
    }
    return exists;
  }

  // What `body` appends, at a row from this work-item's first, where there is such a pixel: under a
  // branch with wgmma, else by what loads and stores are valid for.
  void at_row(std::int64_t row, Stmts &list, const std::function<void(Stmts &)> &body) {
    exists_ = place_row(row, list);
    if (!is_wgmma_)
      return body(list);
    Stmts inside;
    body(inside);
    list.push_back(b_.branch(exists_, b_.block(std::move(inside))));
  }

  // Runs of this work-item's row of one half of a block.
  void store_row(std::int64_t block, std::int64_t half, std::int64_t first, std::int64_t count,
                 Stmts &list) {
    at_row(row_at(block, half), list, [&](Stmts &runs) {
      for (std::int64_t q = first; q < first + count; ++q) {
        const std::int64_t apart = columns_dealt_ ? dealt_column(q) : q * 4 * vec_;
        store_run(b_.add(column_, apart), apart, run_at(block, half, q), runs);
      }
    });
  }

  // A warp's 16 rows, or this block's half of them, of a panel of a block of 64, through a box.
  void fill_box(std::int64_t block, std::int64_t panel, Stmts &list) {
    const std::int64_t columns = end_.boxes->columns();
    const std::int64_t runs = columns / (4 * vec_);
    list.push_back(end_.boxes->open());
    for (std::int64_t half = 0; half < end_.halves; ++half) {
      box_row_ = b_.add(give_, half * kHalfRows);
      store_row(block, half, panel * runs, runs, list);
    }
    list.push_back(end_.boxes->send(filled_++, b_.add(b_.sub(row_, give_), block * unit_),
                                    b_.add(end_.first_column, panel * columns)));
  }

  // Swapped: the values of neighbouring channels, or of one.
  ExprRef swapped_run(std::int64_t value, Stmts &list) {
    if (vec_ == 1)
      return b_.load(end_.acc, value);
    for (std::int64_t i = 0; i < vec_; ++i)
      list.push_back(b_.store(pair_, i, b_.load(end_.acc, value + i * end_.tile.warp_rows / 4)));
    return b_.load(pair_, 0, static_cast<int>(vec_));
  }

  // Swapped: this work-item's channels of its point number `number`.
  void store_pixel(std::int64_t number, Stmts &list) {
    at_row(number / 2 * kHalfRows + number % 2, list, [&](Stmts &runs) {
      for (std::int64_t block = 0; block < end_.tile.warp_columns / kGroupRows; ++block)
        for (std::int64_t run = 0; run < 2 / vec_; ++run) {
          const std::int64_t apart = block * kGroupRows + run * kHalfRows;
          const std::int64_t value = (2 * block + run) * end_.tile.warp_rows / 4 + number;
          store_run(b_.add(column_, apart), apart,
                    {swapped_run(value, runs), value, end_.tile.warp_rows / 4}, runs);
        }
    });
  }

  // A warp's 16 rows of a panel of a block: into local memory by pairs, and out by runs.
  void exchange_panel(std::int64_t block, std::int64_t panel, Stmts &list) {
    const std::int64_t apart = panel * exchange_.columns;
    const std::int64_t taken = kCoreLanes * vec_ / exchange_.columns; // rows at a time
    list.push_back(b_.barrier({.items = kernel::kWarpItems}));
    for (std::int64_t half = 0; half < end_.halves; ++half)
      for (std::int64_t j = 0; j < exchange_.columns / kCoreColumns; ++j)
        list.push_back(b_.store(
            buffer_, b_.add(give_, half * kHalfRows * exchange_.row() + j * kCoreColumns),
            b_.cast(b_.load(end_.acc, value_at(block, half, apart / kCoreColumns + j), kPairs),
                    exchange_.type)));
    list.push_back(b_.barrier({.items = kernel::kWarpItems}));
    for (std::int64_t first = 0; first < end_.halves * kHalfRows; first += taken)
      at_row(block * unit_ + first, list, [&](Stmts &own) {
        const ExprRef run =
            named(b_, own, "taken",
                  b_.load(buffer_, b_.add(take_, first * exchange_.row()), static_cast<int>(vec_)));
        store_run(b_.add(column_, apart), apart, {.acc = run}, own);
      });
  }

  void store_block(std::int64_t block, std::int64_t piece, Stmts &list) {
    const std::int64_t columns = end_.tile.warp_columns / end_.pieces();
    const std::int64_t runs = columns / (4 * vec_);
    const std::int64_t across = exchange_.columns > 0   ? exchange_.columns
                                : end_.boxes != nullptr ? end_.boxes->columns()
                                                        : columns;
    const std::int64_t panels = columns / across;
    for (std::int64_t p = piece * panels; p < (piece + 1) * panels; ++p) {
      if (exchange_.columns > 0)
        exchange_panel(block, p, list);
      else if (end_.boxes != nullptr)
        fill_box(block, p, list);
      else
        for (std::int64_t half = 0; half < end_.halves; ++half)
          store_row(block, half, piece * runs, runs, list);
    }
  }

  // The next of the columns that are fetched together.
  void store_piece(std::int64_t piece, Stmts &list) {
    if (piece > 0)
      list.push_back(end_.ahead->next(piece - 1));
    if (end_.ahead != nullptr)
      end_.ahead->open(piece, list);
    const bool swapped = cx_.schedule.core.swap_ab;
    for (std::int64_t number = 0; swapped && number < end_.tile.warp_rows / 4; ++number)
      store_pixel(number, list);
    for (std::int64_t block = 0; !swapped && block < end_.tile.warp_rows / unit_; ++block)
      store_block(block, piece, list);
    if (end_.sums != nullptr)
      list.push_back(end_.sums(piece));
  }
};

} // namespace

StmtRef store_tile(Context &context, const TileEnd &end) { return TileStore(context, end).build(); }

} // namespace tilefuse::lower
