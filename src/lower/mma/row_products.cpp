// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/row_products.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "base/divide.h"
#include "base/index.h"
#include "lower/context.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "lower/mma/core_copies.h"
#include "lower/mma/core_fetch.h"
#include "lower/mma/tile_store.h"
#include "lower/post.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/mma/row_products.h"

namespace tilefuse::lower {
namespace {

using poly::MemberId;
using poly::SlotId;
using schedule::kCoreColumns;
using schedule::kCoreRows;
using schedule::kHalfRows;
using schedule::kPairs;
using schedule::kRowItems;
using schedule::kStepBytes;

constexpr std::int64_t kHalves = 2; // rows that a work-item has values of, kHalfRows apart
constexpr std::int64_t kTileValues = kHalves * kPairs;

// Values of a work-item: `lanes` neighbours in a row, from one of its first columns on.
struct Spot {
  std::int64_t tile = 0; // of 8 columns
  std::int64_t half = 0;
  std::int64_t lane = 0;
  int lanes = kPairs;
  std::int64_t value() const { return tile * kTileValues + half * kPairs + lane; }
};

class RowProducts {
public:
  explicit RowProducts(Members &members)
      : group_(members.group), members_(members), first_member_(poly::first_product(group_)),
        first_(members.contexts[first_member_]), second_(members.contexts[poly::kAnchor]),
        b_(second_.build), one_(first_.gemm()), two_(second_.gemm()),
        places_(row_places(group_).value()), keys_(poly::row_keys(group_)),
        sharers_(one_.core().warp_columns), share_(one_.tile.warp_columns),
        data_(side(first_, one_.roles.data, copying_items(one_))),
        filter_(side(first_, one_.roles.filter)), values_(side(second_, two_.roles.filter)) {}

  StmtRef build() {
    take_block_apart();
    take_item_apart();
    copy();
    const BufferId scores = sums(one_, "row_acc", share_);
    multiply_first(scores);
    finish_first(scores);
    body_.push_back(b_.async_wait(0));
    body_.push_back(b_.barrier());
    for (const MemberId m : producing_members(group_).reversed())
      if (m != first_member_)
        is_statistic(group_, m) ? statistic(m) : map(m);
    const TileEnd end{.tile = two_.tile,
                      .acc = add_parts(multiply_second()),
                      .warp = warp_,
                      .first_row = b_.add(first_row_, warp_row_),
                      .first_column = b_.mul(part_, two_.tile.warp_columns)};
    body_.push_back(store_tile(second_, end));
    return b_.block(std::move(body_));
  }

private:
  static CoreSide side(Context &cx, int input, std::int64_t items = 0) {
    return {cx, input,
            CoreSource{.nest = cx.nest,
                       .from = cx.source_buffers[at(input)],
                       .items = items,
                       .in_order = true}};
  }
  ExprRef integer(std::int64_t value) { return b_.integer(value); }
  ExprRef named(const std::string &name, ExprRef value) {
    return lower::named(b_, body_, name, value);
  }
  std::int64_t tiles() const { return share_ / kCoreColumns; }
  // Of some of the warps that share a row; of all of them.
  bool is_cut(std::int64_t tile) const {
    return (sharers_ - 1) * share_ + (tile + 1) * kCoreColumns > keys_;
  }
  bool is_past(std::int64_t tile) const { return tile * kCoreColumns >= keys_; }
  // Keys of the warp that has most.
  std::int64_t most_keys() const { return std::min(share_, keys_); }
  ExprRef column(const Spot &spot) {
    const ExprRef pair = b_.add(first_key_, b_.mul(b_.mod(item_, kRowItems), kPairs));
    return b_.add(pair, spot.tile * kCoreColumns + spot.lane);
  }
  ExprRef row(std::int64_t half) { return b_.add(b_.div(item_, kRowItems), half * kHalfRows); }
  std::function<ExprRef(int)> loads(MemberId member, int first, const Spot &spot) {
    return [this, member, first, spot](int k) { return load(member, first + k, spot); };
  }

  const poly::Group &group_;
  Members &members_;
  const MemberId first_member_;
  Context first_, second_; // of the products
  kernel::Builder &b_;
  const schedule::Gemm &one_, &two_;
  const poly::RowPlaces places_;
  const std::int64_t keys_;
  const std::int64_t sharers_, share_; // warps that share a row's keys, and keys of each
  CoreSide data_, filter_, values_;
  Stmts body_;
  ExprRef first_row_{}, item_{}, warp_{}, warp_row_{};
  ExprRef part_{}, first_key_{}; // this warp's among those that share its rows, and its first key
  std::map<SlotId, BufferId> tiles_;                          // registers, by slot of the group
  std::map<SlotId, std::array<ExprRef, kHalves>> statistics_; // values, likewise
  std::array<ExprRef, kHalves> pixels_{}, rows_{}; // of the first product; of all that there are
  BufferId factor_{-1};                            // fragments of the second product

  void take_block_apart() {
    const std::int64_t row_tiles = ceil_div(two_.roles.points, two_.tile.rows);
    ExprRef rest = b_.block();
    first_row_ = named("first_row", b_.mul(take_digit(b_, rest, row_tiles), two_.tile.rows));
    for (const IndexId i : two_.roles.grid)
      second_.origin[i] =
          named("o_" + second_.nest.indices[i].name, take_digit(b_, rest, extent(second_.nest, i)));
    for (const IndexId i : one_.roles.grid)
      if (const auto same = schedule::index_like(group_, i))
        first_.origin[i] = second_.origin[*same];
  }

  void take_item_apart() {
    item_ = named("item", b_.mod(b_.lane(), kCoreLanes));
    warp_ = named("warp", b_.div(b_.lane(), kCoreLanes));
    warp_row_ = named("warp_row", b_.mul(b_.div(warp_, sharers_), kCoreRows));
    part_ = named("part", b_.mod(warp_, sharers_));
    first_key_ = named("first_key", b_.mul(part_, share_));
  }

  void copy() {
    for (const auto &[side, first] :
         {std::pair(&data_, first_row_), {&filter_, integer(0)}, {&values_, integer(0)}})
      body_.push_back(side->declare(first));
    const auto start = [&](const CoreSide &side, const Context &cx) {
      return side.start({cx.nest.indices.size(), integer(0)}, integer(0));
    };
    const std::int64_t copying = copying_items(one_);
    const bool all_copy = copying == schedule::group_size(first_.schedule);
    body_.push_back(
        b_.branch(all_copy ? nullptr : b_.less(b_.lane(), copying), start(data_, first_)));
    body_.push_back(start(filter_, first_));
    body_.push_back(b_.async_commit());
    body_.push_back(start(values_, second_));
    body_.push_back(b_.async_commit());
    body_.push_back(b_.async_wait(1));
    body_.push_back(b_.barrier());
  }

  // Sums of a warp's rows by so many columns, from 0 on.
  BufferId sums(const schedule::Gemm &gemm, const char *name, std::int64_t columns) {
    const kernel::Type type{gemm.core().op->d.type, 1};
    const std::int64_t count = columns / kCoreColumns * kTileValues;
    const BufferId acc = register_buffer(b_, name, type, count);
    for (std::int64_t i = 0; i < count; ++i)
      body_.push_back(b_.store(acc, i, b_.real(0, type)));
    return acc;
  }

  void multiply_first(BufferId acc) {
    const CoreOp &op = *one_.core().op;
    const std::int64_t steps = one_.tile.row_bytes() / kStepBytes;
    const BufferId a = register_buffer(b_, "data_values", {op.a.type, op.a.values()}, steps);
    const BufferId b = register_buffer(b_, "filter_values", {op.b.type, op.b.values()}, 2);
    const CorePlace of_data = core_place(b_, body_, data_, item_, warp_row_);
    const CorePlace of_filter = core_place(b_, body_, filter_, item_, first_key_);
    for (std::int64_t step = 0; step < steps; ++step)
      body_.push_back(core_fetch(b_, data_, of_data, {0, step, integer(0)}, a, step));
    for (std::int64_t stripe = 0; stripe * kCoreRows < most_keys(); ++stripe)
      for (std::int64_t step = 0; step < steps; ++step) {
        body_.push_back(core_fetch(b_, filter_, of_filter, {stripe, step, integer(0)}, b, 0));
        for (std::int64_t i = 0; i < 2; ++i)
          body_.push_back(b_.mma({.op = &op,
                                  .acc = {acc, integer((2 * stripe + i) * kTileValues)},
                                  .a = {a, integer(step)},
                                  .b = {b, integer(i)}}));
      }
  }

  // Of a pair's columns those that exist, where post-ops read along rows or columns; null: all.
  ExprRef valid(const Spot &spot) {
    ExprRef count = integer(spot.lanes);
    if (is_cut(spot.tile))
      count = b_.sub(keys_, column(spot));
    if (one_.roles.points % one_.tile.rows != 0)
      return b_.select(b_.less(pixels_[at(spot.half)], one_.roles.points), count, 0);
    return is_cut(spot.tile) ? count : nullptr;
  }

  // Lets the first product's indices stand at a row of the work-item's.
  void place_row(std::int64_t half) {
    pixels_[at(half)] = named("pixel", b_.add(first_row_, b_.add(warp_row_, row(half))));
    place_digits(first_, one_.roles.pixels, pixels_[at(half)], "p_", first_.origin, body_);
    ExprRef number = integer(0);
    for (const IndexId i : output_indices(first_.nest))
      if (i != one_.roles.channel)
        number = b_.add(number, b_.mul(first_.origin[i], places_[first_member_][i] / keys_));
    rows_[at(half)] = named("row", number);
  }

  // Operands of the first product's post-ops that all of a block's results share, each read once.
  std::vector<ExprRef> shared_extras() {
    const nest::Nest &nest = first_.nest;
    std::vector<ExprRef> found;
    for (const nest::Operand &extra : nest.extras) {
      const nest::Linear at = nest::flat(extra, nest.indices.size());
      std::vector<IndexId> own = one_.roles.pixels;
      own.push_back(one_.roles.channel);
      const bool moves =
          std::any_of(own.begin(), own.end(), [&](IndexId i) { return at.coeff[i] != 0; });
      const BufferId from = first_.slot_buffers[extra.slot];
      found.push_back(moves
                          ? nullptr
                          : named("shared", shared_run(b_, from, linear(first_, at, points(first_)),
                                                       1, 0, nullptr)));
    }
    return found;
  }

  void finish_first(BufferId acc) {
    const nest::Nest &nest = first_.nest;
    const std::vector<ExprRef> shared = shared_extras();
    const DType type = type_of(nest, nest.out);
    const BufferId to = register_buffer(b_, "row_tile", {type, 1}, tiles() * kTileValues);
    tiles_[group_slot(group_, first_member_, nest.out.slot)] = to;
    for (std::int64_t half = 0; half < kHalves; ++half) {
      place_row(half);
      for (std::int64_t tile = 0; tile < tiles() && !is_past(tile); ++tile) {
        const Spot spot{.tile = tile, .half = half};
        first_.origin[one_.roles.channel] = column(spot);
        const auto extra = [&](int k) {
          return shared[at(k)] == nullptr ? extra_value(first_, nest.extras[at(k)], valid(spot))
                                          : b_.broadcast(shared[at(k)], spot.lanes);
        };
        const ExprRef sum = b_.load(acc, spot.value(), kPairs);
        const ExprRef value = expr_value(b_, nest.post, kPairs, sum, extra);
        body_.push_back(b_.store(to, spot.value(), b_.cast(value, type)));
      }
    }
  }

  // An operand of a member, in the type that arithmetic on it is done in.
  ExprRef load(MemberId member, int operand, const Spot &spot) {
    const nest::Nest &nest = member_nest(group_, member);
    const nest::Operand &read = poly::operand_of(nest, operand);
    const SlotId slot = group_slot(group_, member, read.slot);
    if (const auto tile = tiles_.find(slot); tile != tiles_.end())
      return b_.cast(b_.load(tile->second, spot.value(), spot.lanes),
                     compute_type(type_of(nest, read)));
    if (const auto value = statistics_.find(slot); value != statistics_.end())
      return b_.broadcast(value->second[at(spot.half)], spot.lanes);
    return load_memory(member, read, spot);
  }

  // Where an index of a member stands at a spot: of rows, or of keys with the rows around them.
  ExprRef position(MemberId member, IndexId index, const Spot &spot) {
    const std::int64_t place = places_[member][index];
    const std::int64_t count = extent(member_nest(group_, member), index);
    const ExprRef row = rows_[at(spot.half)];
    if (place == 0)
      return integer(0);
    if (place == 1)
      return b_.add(b_.mul(b_.mod(row, count / keys_), keys_), column(spot));
    return b_.mod(b_.div(row, place / keys_), count);
  }

  ExprRef load_memory(MemberId member, const nest::Operand &read, const Spot &spot) {
    const nest::Nest &nest = member_nest(group_, member);
    const nest::Linear flat = nest::flat(read, nest.indices.size());
    ExprRef element = integer(flat.constant);
    std::int64_t stride = 0;
    bool moves = false;
    for (const IndexId i : flat.coeff.ids()) {
      if (flat.coeff[i] == 0 || extent(nest, i) == 1)
        continue;
      element = b_.add(element, b_.mul(position(member, i, spot), flat.coeff[i]));
      stride = places_[member][i] == 1 ? flat.coeff[i] : stride;
      moves = true;
    }
    return shared_run(b_, members_.contexts[member].slot_buffers[read.slot], element, spot.lanes,
                      stride, moves ? valid(spot) : nullptr);
  }

  // What a statistic takes of values of a row.
  ExprRef reduced(MemberId member, const Spot &spot) {
    const nest::Nest &nest = member_nest(group_, member);
    if (nest.comb == program::Comb::Term)
      return expr_value(b_, nest.term, spot.lanes, nullptr, loads(member, 0, spot));
    return b_.cast(load(member, 0, spot), nest.acc_type);
  }

  // All that a work-item has of a row; of keys that there are not, nothing.
  void accumulate(MemberId member, BufferId parts, std::int64_t half) {
    const nest::Nest &nest = member_nest(group_, member);
    const kernel::Type type{nest.acc_type, 1};
    const ExprRef neutral = b_.real(nest::initial_value(nest.agg, nest.acc_type), type);
    const auto add = [&](const Spot &spot, ExprRef value) {
      const ExprRef place = integer(half * kPairs + spot.lane);
      const ExprRef old = b_.load(parts, place, spot.lanes);
      body_.push_back(b_.store(parts, place, aggregate(b_, nest.agg, old, value)));
    };
    for (std::int64_t lane = 0; lane < kPairs; ++lane)
      body_.push_back(b_.store(parts, half * kPairs + lane, neutral));
    for (std::int64_t tile = 0; tile < tiles() && !is_past(tile); ++tile) {
      if (!is_cut(tile)) {
        const Spot spot{.tile = tile, .half = half};
        add(spot, reduced(member, spot));
        continue;
      }
      for (std::int64_t lane = 0; lane < kPairs; ++lane) {
        const Spot spot{.tile = tile, .half = half, .lane = lane, .lanes = 1};
        const ExprRef exists = b_.less(column(spot), keys_);
        add(spot, b_.select(exists, reduced(member, spot), neutral));
      }
    }
  }

  void statistic(MemberId member) {
    const nest::Nest &nest = member_nest(group_, member);
    const kernel::Type type{nest.acc_type, 1};
    const BufferId parts = register_buffer(b_, "row_parts", type, kHalves * kPairs);
    const std::int64_t of_row = sharers_ * kRowItems;
    const BufferId all = register_buffer(b_, "row_all", type, kHalves * of_row);
    const BufferId lanes = declare_local(members_.contexts[member], schedule::LocalUse::Lanes);
    const auto place = [&](ExprRef part, std::int64_t half) { // (part, row, item of the row)
      const ExprRef first = b_.mul(part, one_.tile.rows);
      return b_.mul(b_.add(first, b_.add(warp_row_, row(half))), kRowItems);
    };
    for (std::int64_t half = 0; half < kHalves; ++half) {
      accumulate(member, parts, half);
      const auto part = [&](std::int64_t lane) { return b_.load(parts, half * kPairs + lane); };
      body_.push_back(b_.store(lanes, b_.add(place(part_, half), b_.mod(item_, kRowItems)),
                               aggregate(b_, nest.agg, part(0), part(1))));
    }
    body_.push_back(b_.barrier());
    std::array<ExprRef, kHalves> found{};
    for (std::int64_t half = 0; half < kHalves; ++half) {
      const std::int64_t first = half * of_row;
      for (std::int64_t part = 0; part < sharers_; ++part)
        body_.push_back(b_.store(all, first + part * kRowItems,
                                 b_.load(lanes, place(integer(part), half), kRowItems)));
      ExprRef value = b_.load(all, first);
      for (std::int64_t i = 1; i < of_row; ++i)
        value = aggregate(b_, nest.agg, value, b_.load(all, first + i));
      const Spot spot{.half = half, .lanes = 1};
      const ExprRef post = expr_value(b_, nest.post, 1, value,
                                      loads(member, static_cast<int>(nest.inputs.size()), spot));
      found[at(half)] = named("statistic", b_.cast(post, compute_type(type_of(nest, nest.out))));
    }
    statistics_[group_slot(group_, member, nest.out.slot)] = found;
  }

  // A pair of a map's values as a word of a fragment; 0 of keys that there are not.
  void map_factor(MemberId member, BufferId to, const Spot &spot) {
    const nest::Nest &nest = member_nest(group_, member);
    const DType type = type_of(nest, nest.out);
    const ExprRef place = integer(spot.value() / kPairs);
    const auto value = [&](const Spot &at) {
      return expr_value(b_, nest.post, at.lanes, nullptr, loads(member, 0, at));
    };
    if (is_past(spot.tile)) {
      body_.push_back(b_.store(to, place, b_.real(0, {type, kPairs})));
      return;
    }
    if (!is_cut(spot.tile)) {
      body_.push_back(b_.store(to, place, b_.cast(value(spot), type)));
      return;
    }
    const BufferId cut = register_buffer(b_, "row_cut", {type, 1}, kPairs);
    for (std::int64_t lane = 0; lane < kPairs; ++lane) {
      const Spot one{.tile = spot.tile, .half = spot.half, .lane = lane, .lanes = 1};
      const ExprRef made = value(one);
      const ExprRef exists = b_.less(column(one), keys_);
      body_.push_back(
          b_.store(cut, lane, b_.cast(b_.select(exists, made, b_.real(0, made->type)), type)));
    }
    const ExprRef both = b_.cast(b_.load(cut, 0, kPairs), compute_type(type));
    body_.push_back(b_.store(to, place, b_.cast(both, type)));
  }

  void map(MemberId member) {
    const nest::Nest &nest = member_nest(group_, member);
    const DType type = type_of(nest, nest.out);
    const bool is_factor = member == poly::member_of_producer(0);
    const kernel::Type held{type, is_factor ? static_cast<int>(kPairs) : 1};
    const std::int64_t values = tiles() * kTileValues;
    const BufferId to = register_buffer(b_, "row_tile", held, values / held.lanes);
    for (std::int64_t tile = 0; tile < tiles(); ++tile)
      for (std::int64_t half = 0; half < kHalves; ++half) {
        const Spot spot{.tile = tile, .half = half};
        if (is_factor)
          map_factor(member, to, spot);
        else if (!is_past(tile))
          body_.push_back(b_.store(
              to, spot.value(),
              b_.cast(expr_value(b_, nest.post, kPairs, nullptr, loads(member, 0, spot)), type)));
      }
    if (is_factor)
      factor_ = to;
    else
      tiles_[group_slot(group_, member, nest.out.slot)] = to;
  }

  // Sums over this warp's keys, of all columns.
  BufferId multiply_second() {
    const CoreOp &op = *two_.core().op;
    const BufferId acc = sums(two_, "acc", two_.tile.columns);
    const BufferId b = register_buffer(b_, "filter_values", {op.b.type, op.b.values()}, 2);
    const CorePlace place = core_place(b_, body_, values_, item_, integer(0));
    const std::int64_t words = op.a.values() / kPairs;
    const ExprRef first = b_.mul(first_key_, values_.side().elems);
    for (std::int64_t step = 0; step * kCoreRows < most_keys(); ++step)
      for (std::int64_t stripe = 0; stripe < two_.tile.columns / kCoreRows; ++stripe) {
        body_.push_back(core_fetch(b_, values_, place, {stripe, step, first}, b, 0));
        for (std::int64_t i = 0; i < 2; ++i)
          body_.push_back(b_.mma({.op = &op,
                                  .acc = {acc, integer((2 * stripe + i) * kTileValues)},
                                  .a = {factor_, integer(step * words)},
                                  .b = {b, integer(i)}}));
      }
    return acc;
  }

  // Of the sums of all warps that share rows, those of the columns that this one stores: warps
  // leave theirs in local memory, (warp, tile of 8 columns, item, value), and add the parts in
  // their order.
  BufferId add_parts(BufferId acc) {
    if (sharers_ == 1)
      return acc;
    constexpr int kLanes = static_cast<int>(kTileValues);
    const std::int64_t columns = two_.tile.columns / kCoreColumns; // in tiles
    const std::int64_t own = columns / sharers_;
    const BufferId parts = declare_local(second_, schedule::LocalUse::Parts);
    const auto place = [&](ExprRef warp, ExprRef tile) {
      const ExprRef items = b_.mul(b_.add(b_.mul(warp, columns), tile), kCoreLanes);
      return b_.mul(b_.add(items, item_), kTileValues);
    };
    for (std::int64_t tile = 0; tile < columns; ++tile)
      body_.push_back(
          b_.store(parts, place(warp_, integer(tile)), b_.load(acc, tile * kTileValues, kLanes)));
    body_.push_back(b_.barrier());
    const BufferId all = register_buffer(b_, "sums", b_.kernel()[acc].type, own * kTileValues);
    const ExprRef first = b_.sub(warp_, part_);
    for (std::int64_t tile = 0; tile < own; ++tile) {
      const ExprRef column = b_.add(b_.mul(part_, own), tile);
      ExprRef value = b_.load(parts, place(first, column), kLanes);
      for (std::int64_t part = 1; part < sharers_; ++part)
        value = b_.add(value, b_.load(parts, place(b_.add(first, part), column), kLanes));
      body_.push_back(b_.store(all, tile * kTileValues, value));
    }
    return all;
  }
};

} // namespace

kernel::Kernel build_row_products(const poly::Group &group, const schedule::Schedule &schedule,
                                  const Target &target) {
  return group_kernel(group, schedule, target,
                      [](Members &members) { return RowProducts(members).build(); });
}

} // namespace tilefuse::lower
