// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/evaluate.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/evaluate/accumulate.h"
#include "nest/evaluate/accumulator.h"
#include "nest/evaluate/eval_expr.h"
#include "nest/evaluate/odometer.h"
#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

using Slots = std::span<const std::span<std::byte>>;

constexpr std::int64_t kChunk = 2048;

void check_slots(const Nest &nest, Slots slots) {
  if (slots.size() != nest.slots.size())
    throw Error(ErrorCode::Shape, fmt::format("nest '{}' has {} slots, got {} buffers", nest.name,
                                              nest.slots.size(), slots.size()));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const std::int64_t need = nest.slots[i].elems * size_bytes(nest.slots[i].type);
    if (static_cast<std::int64_t>(slots[i].size()) < need)
      throw Error(ErrorCode::Shape, fmt::format("nest '{}': slot {} needs {} bytes, got {}",
                                                nest.name, i, need, slots[i].size()));
  }
}

// Computes post and stores it, several rows of the longest output index at a time.
class Finish {
public:
  Finish(const Nest &nest, Slots slots, const std::vector<double> &acc)
      : nest_(nest), slots_(slots), acc_(acc) {
    forms_.push_back(flat(nest.out, nest.indices.size()));
    forms_.push_back(accumulator_address(nest_));
    for (const Operand &extra : nest.extras)
      forms_.push_back(flat(extra, nest.indices.size()));
    choose_row();
    const auto capacity = static_cast<std::size_t>(std::min(points_, kChunk) + kChunk);
    gathered_.assign(nest.extras.size() + 1, std::vector<double>(capacity));
  }

  void run() {
    std::vector<std::size_t> loops;
    for (std::size_t i = 0; i < static_cast<std::size_t>(nest_.output_indices); ++i)
      if (i != row_index_)
        loops.push_back(i);
    Odometer odometer(nest_.indices, loops, forms_);
    do {
      for (std::int64_t first = 0; first < points_; first += kChunk)
        add_row(odometer.values(), first, std::min(kChunk, points_ - first));
    } while (odometer.next());
    flush();
  }

private:
  // Where a piece of a row goes.
  struct Piece {
    std::int64_t out = 0;
    std::int64_t count = 0;
  };

  void choose_row() {
    row_index_ = nest_.indices.size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(nest_.output_indices); ++i)
      if (nest_.indices[i].extent > points_) {
        points_ = nest_.indices[i].extent;
        row_index_ = i;
      }
  }

  std::int64_t step(std::size_t form) const {
    return row_index_ < nest_.indices.size() ? forms_[form].coeff[row_index_] : 0;
  }

  void gather(std::size_t extra, std::int64_t at, std::int64_t count) {
    const auto slot = static_cast<std::size_t>(nest_.extras[extra].slot);
    const DType type = nest_.slots[slot].type;
    const std::int64_t stride = step(extra + 2);
    double *to = gathered_[extra].data() + filled_;
    for (std::int64_t i = 0; i < count; ++i)
      to[i] = load_element(slots_[slot].data(), type, at + i * stride);
  }

  void add_row(const std::vector<std::int64_t> &at, std::int64_t first, std::int64_t count) {
    for (std::size_t k = 0; k < nest_.extras.size(); ++k)
      gather(k, at[k + 2] + first * step(k + 2), count);
    if (!nest_.inputs.empty())
      for (std::int64_t i = 0; i < count; ++i)
        gathered_.back()[static_cast<std::size_t>(filled_ + i)] =
            acc_[static_cast<std::size_t>(at[1] + (first + i) * step(1))];
    pieces_.push_back({at[0] + first * step(0), count});
    filled_ += count;
    if (filled_ >= kChunk)
      flush();
  }

  void flush() {
    ExprRows rows;
    for (std::size_t k = 0; k < nest_.extras.size(); ++k)
      rows.operands.push_back(gathered_[k].data());
    rows.acc = nest_.inputs.empty() ? nullptr : gathered_.back().data();
    rows.count = static_cast<std::size_t>(filled_);
    const auto slot = static_cast<std::size_t>(nest_.out.slot);
    const DType type = nest_.slots[slot].type;
    const std::vector<double> values = evaluate_rows(program::cast(nest_.post, type), rows);
    std::size_t from = 0;
    for (const Piece &piece : pieces_)
      for (std::int64_t i = 0; i < piece.count; ++i)
        store_element(slots_[slot].data(), type, piece.out + i * step(0), values[from++]);
    pieces_.clear();
    filled_ = 0;
  }

  const Nest &nest_;
  Slots slots_;
  const std::vector<double> &acc_;
  std::vector<Linear> forms_; // out, accumulator, extras
  std::size_t row_index_ = 0;
  std::int64_t points_ = 1;
  std::vector<std::vector<double>> gathered_; // (extra, chunk), the accumulator last
  std::vector<Piece> pieces_;
  std::int64_t filled_ = 0;
};

} // namespace

void evaluate(const Nest &nest, Slots slots) {
  verify(nest);
  check_slots(nest, slots);
  try {
    const std::vector<double> acc =
        nest.inputs.empty() ? std::vector<double>() : accumulate(nest, slots);
    Finish(nest, slots, acc).run();
  } catch (const std::bad_alloc &) {
    throw Error(ErrorCode::Limit, fmt::format("nest '{}' is too large to evaluate", nest.name));
  } catch (const std::length_error &) {
    throw Error(ErrorCode::Limit, fmt::format("nest '{}' is too large to evaluate", nest.name));
  }
}

} // namespace tilefuse::nest
