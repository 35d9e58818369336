// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_copies.h"

#include <algorithm>
#include <utility>

#include "base/index.h"
#include "lower/expressions.h"
#include "lower/members.h"
#include "nest/index.h"
#include "schedule/mma/core_pipes.h"

namespace tilefuse::lower {

namespace {

constexpr std::int64_t kSwizzleRows = 8; // after which the exchange of chunks repeats
constexpr std::int64_t kFarOutside = -(std::int64_t{1} << 30);

bool is_checked(const schedule::Source &source, IndexId index) {
  return std::any_of(source.dims.begin(), source.dims.end(), [&](const nest::Dim &dim) {
    return dim.guarded && dim.at.coeff[at(index)] != 0;
  });
}

} // namespace

CoreWalk::CoreWalk(Context &context) : GemmPart(context) {
  for (auto i = roles_.walked.rbegin(); i != roles_.walked.rend(); ++i)
    if (extent(cx_.nest, *i) > 1)
      counters_.push_back({*i, extent(cx_.nest, *i), 1});
  const bool in_blocks = roles_.has_blocks();
  counters_.push_back({in_blocks ? roles_.depths.front() : roles_.depth(),
                       windows_of_tile(cx_.gemm()),
                       in_blocks ? tile_.depth / extent(cx_.nest, roles_.depth()) : tile_.depth});
  values_ =
      register_buffer(b_, "walk", {DType::I32, 1}, static_cast<std::int64_t>(counters_.size()));
}

StmtRef CoreWalk::start() const {
  Stmts list;
  for (std::size_t i = 0; i < counters_.size(); ++i)
    list.push_back(b_.store(values_, static_cast<std::int64_t>(i), 0));
  return b_.block(std::move(list));
}

// Like a clock: a counter that comes to its end starts again and moves the next.
StmtRef CoreWalk::advance() const {
  Stmts list;
  ExprRef carry = b_.integer(1);
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const ExprRef number = b_.integer(static_cast<std::int64_t>(i));
    const kernel::VarId next = b_.variable("next", {});
    list.push_back(b_.let(next, b_.add(b_.load(values_, number), carry)));
    if (i + 1 == counters_.size()) {
      list.push_back(b_.store(values_, number, b_.var(next)));
      break;
    }
    const kernel::VarId wraps = b_.variable("wraps", {});
    const ExprRef is_end = b_.equal(b_.var(next), counters_[i].end);
    list.push_back(b_.let(wraps, b_.select(is_end, 1, 0)));
    const ExprRef wrapped =
        b_.select(b_.scalar(ScalarOp::Ne, {b_.var(wraps), b_.integer(0)}), 0, b_.var(next));
    list.push_back(b_.store(values_, number, wrapped));
    carry = b_.var(wraps);
  }
  return b_.block(std::move(list));
}

Positions CoreWalk::points() const {
  Positions all(cx_.nest.indices.size(), b_.integer(0));
  for (std::size_t i = 0; i < counters_.size(); ++i)
    all[counters_[i].index] =
        b_.mul(b_.load(values_, static_cast<std::int64_t>(i)), counters_[i].step);
  return all;
}

CoreDigits::CoreDigits(Context &context, const schedule::Source &source)
    : GemmPart(context), step_(tile_.depth), is_whole_(roles_.depth_points % step_ == 0) {
  const std::vector<IndexId> &depths = cx_.gemm().roles.depths;
  for (auto i = depths.rbegin(); i != depths.rend(); ++i) {
    const Digit next = {*i, cx_.nest.indices[at(*i)].extent};
    if (digits_.empty()) {
      digits_.push_back(next);
    } else if (digits_.back().end == 1) {
      merged_.push_back(digits_.back().index);
      digits_.back() = next;
    } else if (next.end == 1 || joins(source, digits_.back(), next)) {
      merged_.push_back(next.index);
      digits_.back().end *= next.end;
    } else {
      digits_.push_back(next);
    }
  }
}

// The input lies as if both were one index.
bool CoreDigits::joins(const schedule::Source &source, const Digit &fast, const Digit &slow) {
  const auto strides = nest::flat({.dims = source.dims}, source.dims.front().at.coeff.size()).coeff;
  return strides[slow.index] == fast.end * strides[fast.index] && !is_checked(source, slow.index) &&
         !is_checked(source, fast.index);
}

void CoreDigits::reserve(std::int64_t copies) {
  values_ = register_buffer(b_, "digits", {DType::I32, 1},
                            copies * static_cast<std::int64_t>(digits_.size()));
}

ExprRef CoreDigits::number(std::int64_t copy, std::size_t digit) const {
  return b_.integer(copy * static_cast<std::int64_t>(digits_.size()) +
                    static_cast<std::int64_t>(digit));
}

StmtRef CoreDigits::start(std::int64_t copy, ExprRef row) const {
  Stmts list;
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const ExprRef end = b_.integer(digits_[d].end);
    const bool is_last = d + 1 == digits_.size();
    list.push_back(b_.store(values_, number(copy, d), is_last ? row : b_.mod(row, end)));
    row = b_.div(row, end);
  }
  return b_.block(std::move(list));
}

// A sum digit by digit: each digit and the carry make less than twice the digit's end.
StmtRef CoreDigits::advance(std::int64_t copy) const {
  Stmts list;
  std::int64_t rest = step_;
  ExprRef carry = b_.integer(0);
  for (std::size_t d = 0; d < digits_.size(); ++d) {
    const std::int64_t end = digits_[d].end;
    const bool is_last = d + 1 == digits_.size();
    const ExprRef by = b_.add(carry, is_last ? rest : rest % end);
    const kernel::VarId next = b_.variable("next", {});
    list.push_back(b_.let(next, b_.add(b_.load(values_, number(copy, d)), by)));
    ExprRef value = b_.var(next);
    if (!is_last) {
      const kernel::VarId wraps = b_.variable("wraps", {});
      const ExprRef is_past = b_.scalar(ScalarOp::Ge, {value, b_.integer(end)});
      list.push_back(b_.let(wraps, b_.select(is_past, 1, 0)));
      carry = b_.var(wraps);
      value = b_.sub(value, b_.mul(carry, end));
    }
    list.push_back(b_.store(values_, number(copy, d), value));
    rest /= end;
  }
  return b_.block(std::move(list));
}

std::vector<ExprRef> CoreDigits::point(std::int64_t copy) const {
  std::vector<ExprRef> all(cx_.nest.indices.size(), b_.integer(0));
  for (std::size_t d = 0; d < digits_.size(); ++d)
    all[at(digits_[d].index)] = b_.load(values_, number(copy, d));
  return all;
}

ExprRef CoreDigits::exists(std::int64_t copy) const {
  if (is_whole_)
    return nullptr;
  return b_.less(b_.load(values_, number(copy, digits_.size() - 1)), digits_.back().end);
}

CoreSide::CoreSide(Context &context, int input, const CoreSource &source)
    : GemmPart(context), input_(input), side_(core_side_tile(roles_, tile_, input)),
      gathers_(core_gathers(gemm_of(source.nest, cx_.schedule), input)),
      each_(gathers_ ? tile_.chunk() : core_copy_elems(gemm_of(source.nest, cx_.schedule), input)),
      cuts_(gathers_ ? row_points() % each_ != 0
                     : core_cuts_runs(gemm_of(source.nest, cx_.schedule), input)),
      block_(extent(cx_.nest, roles_.depth())),
      source_(source_of(source.nest, cx_.schedule, input)), from_(source.from),
      items_(source.items == 0 ? cx_.block_size() : source.items), in_order_(source.in_order),
      ring_(source.ring) {
  if (is_turned())
    digits_.emplace(cx_, source_);
  flat_ = nest::flat({.offset = source_.offset, .dims = source_.dims}, cx_.nest.indices.size());
  for (const nest::Dim &dim : source_.dims)
    if (dim.guarded) {
      checked_.push_back(dim.at);
      sizes_.push_back(dim.size);
    }
  if (digits_)
    for (const IndexId i : digits_->merged())
      flat_.coeff[at(i)] = 0;
  if (ring_ == BufferId{-1})
    ring_ = declare_local(cx_, is_data() ? schedule::LocalUse::Data : schedule::LocalUse::Filter,
                          source.number);
}

std::int64_t CoreSide::own_points() const {
  return is_data() ? roles_.points : roles_.channel_points;
}

// Points along which a row of the tile lies.
std::int64_t CoreSide::row_points() const {
  return is_turned() ? own_points() : roles_.depth_points;
}

// Elements of the tensor from one of a run to the next.
std::int64_t CoreSide::apart() const {
  return gathers_ ? flat_.coeff[at(roles_.contiguous(input_))] : 1;
}

// A condition kept as a number.
ExprRef CoreSide::flag(const std::string &name, ExprRef condition) {
  if (condition == nullptr)
    return nullptr;
  const ExprRef value = named(name, b_.select(condition, 1, 0));
  return b_.scalar(ScalarOp::Ne, {value, b_.integer(0)});
}

// The channel that a row of the filter's tile holds, from the tile's first; a row of data, or of
// what is not dealt out, holds its own.
ExprRef CoreSide::source_row(ExprRef row) const {
  if (is_data() || in_order_ || exchanges(cx_.gemm()))
    return row;
  const std::int64_t vec = cx_.schedule.splits[at(roles_.channel)].vec;
  const ExprRef warp = b_.div(row, tile_.warp_columns);
  const ExprRef inside = b_.mod(row, tile_.warp_columns);
  const ExprRef column = b_.mod(inside, 8); // of its 8-column tile: 2t + b
  const ExprRef half = b_.mul(b_.mod(column, 2), 4 * vec);
  const ExprRef quarter = b_.mul(b_.div(column, 2), vec);
  return b_.add(b_.add(b_.mul(warp, tile_.warp_columns), b_.add(half, quarter)), b_.div(inside, 8));
}

// Where the output indices stand, and reduced ones begin.
Positions CoreSide::reduced_zero() const {
  Positions positions = cx_.origin;
  positions.resize(cx_.nest.indices.size());
  std::fill(positions.begin() + cx_.nest.output_indices, positions.end(), b_.integer(0));
  return positions;
}

// Output indices at pixel or channel `number`; the copy exists where there is one.
Positions CoreSide::place_row(ExprRef number, Copy &copy) {
  Positions positions = reduced_zero();
  if (own_points() % side_.rows != 0)
    copy.exists = b_.less(number, own_points());
  if (roles_.has_blocks())
    positions[roles_.depths.front()] = b_.div(run_, block_);
  const std::vector<IndexId> &own = is_data() ? roles_.pixels : roles_.channels;
  const std::vector<ExprRef> digits = digits_of(b_, number, extents(cx_.nest, own));
  for (std::size_t k = 0; k < own.size(); ++k)
    positions[own[k]] = digits[k];
  for (const IndexId i : output_indices(cx_.nest))
    positions[i] = b_.add(cx_.start[i], positions[i]);
  return positions;
}

// Where a copy at these positions reads; one that does not exist lies outside if anything is
// checked.
void CoreSide::locate(Copy &copy, const Positions &positions) {
  const ExprRef inside = roles_.has_blocks() ? b_.mod(run_, block_) : run_;
  copy.from = named("from", b_.add(linear(cx_, flat_, positions), b_.mul(inside, apart())));
  for (const nest::Linear &at : checked_) {
    ExprRef subscript = linear(cx_, at, positions);
    if (copy.exists != nullptr)
      subscript = b_.select(copy.exists, subscript, kFarOutside);
    copy.exists = nullptr;
    copy.subscripts.push_back(named("at", subscript));
  }
  copy.exists = flag("exists", copy.exists);
}

CoreSide::Copy CoreSide::straight_copy(ExprRef row, ExprRef first) {
  Copy copy;
  const ExprRef number = named("row", b_.add(first, source_row(row)));
  locate(copy, place_row(number, copy));
  return copy;
}

CoreSide::Copy CoreSide::turned_copy(ExprRef row, ExprRef first) {
  Copy copy{.row = row};
  Positions positions = reduced_zero();
  positions[roles_.contiguous(input_)] = first;
  if (!has_digits())
    positions[digits_->fastest()] = row;
  if (run_exists_ == nullptr && own_points() % side_.elems != 0)
    run_exists_ = flag("run_exists", b_.less(b_.add(first, run_), own_points()));
  locate(copy, positions);
  copy.exists = run_exists_;
  return copy;
}

// The element of a buffer at which this work-item's run of a row goes.
ExprRef CoreSide::place_in_tile(ExprRef row) {
  const ExprRef chunk = b_.div(run_, tile_.chunk());
  const ExprRef inside = b_.mod(run_, tile_.chunk());
  const ExprRef moved = swizzled(b_, swizzle(), chunk, row);
  return b_.add(b_.add(b_.mul(row, side_.elems), b_.mul(moved, tile_.chunk())), inside);
}

StmtRef CoreSide::declare(ExprRef first) {
  const std::int64_t runs = side_.elems / each_; // of a row
  const std::int64_t apart = items_ / runs;
  const std::int64_t copies = side_.rows / apart;
  // Neighbouring work-items read neighbours: runs of a row, or pixels where runs are apart.
  const bool by_rows = gathers_ && is_data() && roles_.data_apart;
  const ExprRef fast = b_.mod(b_.lane(), by_rows ? apart : runs);
  const ExprRef slow = b_.div(b_.lane(), by_rows ? apart : runs);
  const ExprRef row = named("copy_row", by_rows ? fast : slow);
  run_ = named("run", b_.mul(by_rows ? slow : fast, each_));
  first_ = first;
  for (Digits *digits : {&digits_, &behind_})
    if (has_digits() && *digits)
      (*digits)->reserve(copies);
  for (std::int64_t i = 0; i < copies; ++i) {
    const ExprRef this_row = b_.add(row, i * apart);
    Copy copy = is_turned() ? turned_copy(this_row, first) : straight_copy(this_row, first);
    const bool repeats = i > 0 && apart % kSwizzleRows == 0;
    copy.to = repeats ? b_.add(copies_[0].to, i * apart * side_.elems)
                      : named("to", place_in_tile(this_row));
    for (const Digits *digits : {&digits_, &behind_})
      if (has_digits() && *digits)
        lets_.push_back((*digits)->start(i, this_row));
    copies_.push_back(std::move(copy));
  }
  return b_.block(std::move(lets_));
}

// Whether a copy lies within the depth; null: always.
ExprRef CoreSide::in_depth(const Copy &copy, std::int64_t number, ExprRef first,
                           const Digits &digits) const {
  if (has_digits())
    return digits->exists(number);
  if (roles_.depth_points % tile_.depth == 0)
    return nullptr;
  const ExprRef inside = is_turned() ? copy.row : run_;
  return b_.less(b_.add(first, inside), roles_.depth_points);
}

// Whether the tensor has what a copy brings; null: always.
ExprRef CoreSide::exists(std::int64_t number, const Moves &moves, const Digits &digits) const {
  const Copy &copy = copies_[at(number)];
  ExprRef valid = b_.logical_and(copy.exists, in_depth(copy, number, moves.depth, digits));
  for (std::size_t k = 0; k < checked_.size(); ++k) {
    ExprRef subscript = b_.add(copy.subscripts[k], moves.shifts[k]);
    if (has_digits())
      subscript =
          b_.add(subscript, linear(cx_, without_constant(checked_[k]), digits->point(number)));
    valid = also_inside(b_, valid, subscript, sizes_[k]);
  }
  return valid;
}

// Elements of a run that exist; null: all. Copies bring all or none, but for the last of a row.
ExprRef CoreSide::valid_elems(const Moves &moves, ExprRef valid) const {
  ExprRef count = b_.integer(each_);
  if (cuts_)
    count = b_.sub(row_points(), b_.add(is_turned() ? first_ : moves.depth, run_));
  if (valid == nullptr)
    return cuts_ ? count : nullptr;
  return b_.select(valid, count, 0);
}

ExprRef CoreSide::depth_of(const Positions &points) const {
  return roles_.has_blocks() ? b_.mul(points[roles_.depths.front()], block_)
                             : points[roles_.depth()];
}

// The copies lie at the output indices already.
CoreSide::Moves CoreSide::moves_to(Positions points, ExprRef slot, Stmts &list) const {
  Moves moves{.depth = depth_of(points)};
  std::fill_n(points.begin(), cx_.outputs(), b_.integer(0));
  points[roles_.depth()] = b_.integer(0);
  if (!roles_.has_blocks() && !has_digits())
    points[digits_ ? digits_->fastest() : roles_.depth()] = moves.depth;
  moves.offset = lower::named(b_, list, "moved", linear(cx_, without_constant(flat_), points));
  moves.buffer = lower::named(b_, list, "buffer", b_.mul(slot, buffer_elems()));
  for (const nest::Linear &at : checked_)
    moves.shifts.push_back(
        lower::named(b_, list, "shift", linear(cx_, without_constant(at), points)));
  return moves;
}

// Where copy `number` reads in the step that the copies have come to.
ExprRef CoreSide::from_index(std::int64_t number, const Moves &moves) const {
  const ExprRef from = b_.add(copies_[at(number)].from, moves.offset);
  return has_digits() ? b_.add(from, linear(cx_, without_constant(flat_), digits_->point(number)))
                      : from;
}

StmtRef CoreSide::start(const Positions &points, ExprRef slot) const {
  Stmts list;
  const Moves moves = moves_to(points, slot, list);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(copies_.size()); ++i) {
    const Copy &copy = copies_[at(i)];
    list.push_back(b_.async_copy({.to = ring_,
                                  .to_index = b_.add(copy.to, moves.buffer),
                                  .from = from_,
                                  .from_index = from_index(i, moves),
                                  .elems = static_cast<int>(each_),
                                  .valid = valid_elems(moves, exists(i, moves, digits_))}));
    if (has_digits())
      list.push_back(digits_->advance(i));
  }
  return b_.block(std::move(list));
}

StmtRef CoreSide::gather(const Positions &points, ExprRef valid) {
  Stmts list;
  const Moves moves = moves_to(points, b_.integer(0), list);
  gathered_.clear();
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(copies_.size()); ++i) {
    const ExprRef elems = valid_elems(moves, b_.logical_and(valid, exists(i, moves, digits_)));
    const ExprRef value =
        b_.load(from_, from_index(i, moves), static_cast<int>(each_), apart(), elems);
    gathered_.push_back(lower::named(b_, list, "gathered", value));
    if (has_digits())
      list.push_back(digits_->advance(i));
  }
  return b_.block(std::move(list));
}

StmtRef CoreSide::put(ExprRef slot) const {
  Stmts list;
  const ExprRef buffer = lower::named(b_, list, "put", b_.mul(slot, buffer_elems()));
  for (std::size_t i = 0; i < copies_.size(); ++i)
    list.push_back(b_.store(ring_, b_.add(copies_[i].to, buffer), gathered_[i]));
  return b_.block(std::move(list));
}

void CoreSide::follow() {
  if (digits_)
    behind_.emplace(*digits_);
}

std::vector<CoreSide::Run> CoreSide::runs(const Positions &points, ExprRef slot,
                                          Stmts &list) const {
  const Moves moves = moves_to(points, slot, list);
  std::vector<Run> all;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(copies_.size()); ++i)
    all.push_back({b_.add(copies_[at(i)].to, moves.buffer), exists(i, moves, behind_)});
  return all;
}

StmtRef CoreSide::next_runs() const {
  Stmts list;
  for (std::int64_t i = 0; has_digits() && i < static_cast<std::int64_t>(copies_.size()); ++i)
    list.push_back(behind_->advance(i));
  return b_.block(std::move(list));
}

ExprRef CoreSide::shared_element(Positions points, const nest::Linear &operand) const {
  std::copy_n(cx_.origin.begin(), cx_.outputs(), points.begin());
  ExprRef inside = run_;
  if (roles_.has_blocks()) {
    const IndexId blocks = roles_.depths.front();
    points[blocks] = b_.add(points[blocks], b_.div(run_, block_));
    inside = b_.mod(run_, block_);
  }
  if (is_turned())
    points[roles_.contiguous(input_)] = first_;
  return b_.add(linear(cx_, operand, points), b_.mul(inside, shared_stride(operand)));
}

ExprRef CoreSide::shared_exists(const Positions &points) const {
  if (is_turned())
    return run_exists_;
  if (roles_.depth_points % tile_.depth == 0)
    return nullptr;
  return b_.less(b_.add(depth_of(points), run_), roles_.depth_points);
}

} // namespace tilefuse::lower
