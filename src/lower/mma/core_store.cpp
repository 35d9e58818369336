// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_store.h"

#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_fetch.h"
#include "lower/mma/core_pixels.h"
#include "lower/mma/gemm_part.h"
#include "lower/post.h"
#include "nest/index.h"

namespace tilefuse::lower {
namespace {

using schedule::kCoreColumns;
using schedule::kCoreRows;
using schedule::kHalfRows;

constexpr std::int64_t kTileValues = 4; // of a work-item in a 16 x 8 tile
constexpr std::int64_t kPair = 2;       // neighbouring columns of a work-item

class CoreStore : GemmPart {
public:
  CoreStore(Context &context, const CoreWarp &warp)
      : GemmPart(context), warp_(warp), vec_(cx_.schedule.splits[roles_.channel].vec),
        column_tiles_(tile_.warp_columns / kCoreColumns),
        rows_dealt_(reads_words(cx_.gemm(), roles_.data)),
        exchanges_(schedule::exchange_elems(cx_.gemm()) > 0),
        as_one_(cx_.member == poly::kAnchor && pixels_lie_as_one(cx_)) {}

  StmtRef build() {
    const std::int64_t row_tiles = tile_.warp_rows / kCoreRows;
    if (exchanges_) {
      exchange_ = declare_local(cx_, schedule::LocalUse::Exchange);
      const std::int64_t of_warp = schedule::kExchangeRows * schedule::exchange_row(tile_);
      exchange_first_ = named("exchange_first", b_.mul(warp_.number, of_warp));
    }
    for (std::int64_t i = 0; i < row_tiles; ++i) {
      if (!exchanges_) {
        store_dealt(i, 0);
        store_dealt(i, 1);
        continue;
      }
      if (i > 0)
        body_.push_back(b_.barrier());
      give(i);
      body_.push_back(b_.barrier());
      take(i);
    }
    return b_.block(std::move(body_));
  }

private:
  ExprRef named(const std::string &name, ExprRef value) {
    return lower::named(b_, body_, name, value);
  }

  const CoreWarp &warp_;
  const std::int64_t vec_;
  const std::int64_t column_tiles_; // of a warp
  const bool rows_dealt_;           // to fragments, as words are read
  const bool exchanges_;
  const bool as_one_; // pixels are stored to without being taken apart
  BufferId exchange_{-1};
  ExprRef exchange_first_{}; // of the warp
  Stmts body_;

  // Lets the output indices stand at row `row` of the warp's tile; gives its pixel.
  ExprRef place_pixel(ExprRef row) {
    const ExprRef pixel = named("pixel", b_.add(warp_.first_row, row));
    lower::place_pixel(cx_, pixel, as_one_, body_);
    return pixel;
  }

  // Channels of a run that exist: all or none where runs divide the channels. Null: all.
  ExprRef valid_channels(ExprRef pixel, ExprRef channel) {
    const std::int64_t channels = roles_.channel_points;
    ExprRef exists = nullptr;
    if (roles_.points % tile_.rows != 0)
      exists = b_.less(pixel, roles_.points);
    if (channels % tile_.columns == 0)
      return count_if(b_, exists, vec_);
    if (channels % vec_ == 0)
      return count_if(b_, b_.logical_and(exists, b_.less(channel, channels)), vec_);
    const ExprRef left = b_.sub(channels, channel);
    return exists == nullptr ? left : b_.select(exists, left, 0);
  }

  // `vec` neighbouring channels of a pixel, from a column of the warp's tile on.
  void store_run(ExprRef pixel, ExprRef column, ExprRef acc) {
    const ExprRef channel = named("channel", b_.add(warp_.first_column, column));
    place_channel(cx_, channel, body_);
    const ExprRef valid = valid_channels(pixel, channel);
    const ExprRef value =
        b_.cast(post_value(cx_, cx_.nest.post, acc, valid), type_of(cx_.nest, cx_.nest.out));
    const ExprRef to = b_.add(cx_.result_base, linear(cx_, cx_.result_form, places(cx_)));
    body_.push_back(b_.store(cx_.result, to, b_.cast(value, b_.kernel()[cx_.result].type.elem),
                             cx_.result_form.coeff[roles_.channel], valid));
  }

  // The row of the warp's tile that row `item / 4` of one half of a row tile holds.
  ExprRef row_of(std::int64_t row_tile, std::int64_t half) {
    const ExprRef eighth = b_.div(warp_.item, 4);
    if (!rows_dealt_)
      return b_.add(row_tile * kCoreRows + half * kHalfRows, eighth);
    const std::int64_t first = row_tile / 2 * schedule::kWordGroup + row_tile % 2 + 2 * half;
    return b_.add(first, b_.mul(dealt_run(b_, eighth), schedule::kWordRun));
  }

  // The pixel in row `item / 4` of one half of a row tile: its channels in runs, two of each columns
  // that are dealt together.
  void store_dealt(std::int64_t row_tile, std::int64_t half) {
    const ExprRef pixel = place_pixel(row_of(row_tile, half));
    for (std::int64_t tile = 0; tile < column_tiles_; tile += vec_)
      for (std::int64_t run = 0; run < kPair; ++run) {
        const ExprRef column =
            b_.add(b_.mul(b_.mod(warp_.item, 4), vec_), tile * kCoreColumns + run * 4 * vec_);
        const std::int64_t first =
            (row_tile * column_tiles_ + tile) * kTileValues + half * kPair + run;
        store_run(pixel, column, b_.load(warp_.acc, first, static_cast<int>(vec_), kTileValues));
      }
  }

  // A row tile of the warp into the buffer.
  void give(std::int64_t row_tile) {
    const ExprRef column = b_.mul(b_.mod(warp_.item, 4), kPair);
    for (std::int64_t half = 0; half < 2; ++half) {
      const ExprRef row = b_.add(b_.div(warp_.item, 4), half * kHalfRows);
      const ExprRef first =
          b_.add(b_.add(exchange_first_, column), b_.mul(row, schedule::exchange_row(tile_)));
      for (std::int64_t j = 0; j < column_tiles_; ++j) {
        const std::int64_t value = (row_tile * column_tiles_ + j) * kTileValues + half * kPair;
        body_.push_back(
            b_.store(exchange_, b_.add(first, j * kCoreColumns), b_.load(warp_.acc, value, kPair)));
      }
    }
  }

  // And out of it, runs of a pixel by neighbouring work-items.
  void take(std::int64_t row_tile) {
    const std::int64_t runs = tile_.warp_columns / vec_; // of a pixel
    const std::int64_t rows = kCoreLanes / runs;         // at a time
    const ExprRef column = b_.mul(b_.mod(warp_.item, runs), vec_);
    for (std::int64_t first = 0; first < schedule::kExchangeRows; first += rows) {
      const ExprRef row = b_.add(first, b_.div(warp_.item, runs));
      const ExprRef index =
          b_.add(b_.add(exchange_first_, column), b_.mul(row, schedule::exchange_row(tile_)));
      const ExprRef pixel = place_pixel(b_.add(row_tile * kCoreRows, row));
      const ExprRef acc = named("exchanged", b_.load(exchange_, index, static_cast<int>(vec_)));
      store_run(pixel, column, acc);
    }
  }
};

} // namespace

StmtRef store_core(Context &context, const CoreWarp &warp) {
  return CoreStore(context, warp).build();
}

} // namespace tilefuse::lower
