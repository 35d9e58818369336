// SPDX-License-Identifier: Apache-2.0
// The ring of one input under a core instruction (schedule/mma/core.h), and the walk over the
// reduced indices that its copies follow. A second walk may follow behind, over what has been
// copied (lower/mma/core_map.h).
#pragma once

#include <optional>
#include <vector>

#include "base/index.h"
#include "lower/context.h"
#include "lower/mma/core_digits.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// Counters of the reduced indices: the depth in steps, slowest, then the walked ones.
class CoreWalk {
public:
  explicit CoreWalk(Context &context);
  // All counters 0.
  kernel::StmtRef start() const;
  // To the next step.
  kernel::StmtRef advance() const;
  // The first point of the current step by index; 0 for output indices. Of a depth that is a number
  // of several indices: the number at its last index.
  Positions points() const;
  // The first block of the current step, of a depth in blocks.
  kernel::ExprRef blocks() const;

private:
  struct Counter {
    IndexId index{};
    std::int64_t end = 1;  // values that it takes
    std::int64_t step = 1; // points of each
  };
  Context &cx_;
  kernel::BufferId values_{-1};
  std::vector<Counter> counters_; // fastest first
};

// What a side copies: an input of `nest`, which lies in a buffer.
struct CoreSource {
  const nest::Nest &nest;
  kernel::BufferId from{-1};
  int number = 0;            // of what the ring holds of the input (CoreFeed::copied)
  kernel::BufferId ring{-1}; // one that exists; -1: one of its own
  kernel::ExprRef item{};    // of those that copy: this one's number; null: all of the block do
  std::int64_t items = 0;    // and how many they are
  bool in_order = false;     // rows of a straight filter are not dealt out
};

// Rows of a block's tile of one input, and this work-item's copies of them.
class CoreSide {
public:
  CoreSide(Context &context, int input, const CoreSource &source);
  kernel::BufferId ring() const { return ring_; }
  bool is_data() const { return input_ == roles_.data; }
  bool is_turned() const { return roles_.is_turned(input_); }
  bool reads_words() const { return schedule::reads_words(cx_.gemm(), input_); }
  std::int64_t chunk() const { return tile_.chunk(); }
  const schedule::CoreSideTile &side() const { return side_; }
  std::int64_t buffer_elems() const { return side_.rows * side_.elems; }
  schedule::Swizzle swizzle() const {
    return schedule::core_swizzle(side_.elems * tile_.elem_bytes);
  }
  // Where this work-item's copies come from and go to; `first` is the block's first pixel or
  // channel.
  kernel::StmtRef declare(kernel::ExprRef first);
  // Starts them for the current step of the walk, into buffer number `slot`.
  kernel::StmtRef start(const CoreWalk &walk, kernel::ExprRef slot) const;
  // The same at `points` by index, of which a depth in blocks has that of the blocks.
  kernel::StmtRef start_at(Positions points, kernel::ExprRef slot) const;

  // The same where work-items gather: loads for the current step of the walk (none where `valid`
  // does not hold; null: it does), and what stores them into buffer number `slot`.
  bool gathers() const { return gathers_; }
  kernel::StmtRef gather(const CoreWalk &walk, kernel::ExprRef valid);
  kernel::StmtRef put(kernel::ExprRef slot) const;

  // A second walk over the same copies: where each lies in buffer number `slot`, and whether the
  // tensor has it (null: it does); to its next step.
  struct Run {
    kernel::ExprRef place{};
    kernel::ExprRef exists{};
  };
  void follow();
  std::vector<Run> runs(const CoreWalk &behind, kernel::ExprRef slot,
                        std::vector<kernel::StmtRef> &list) const;
  kernel::StmtRef next_runs() const;
  std::int64_t run_elems() const { return each_; }
  // The element at which this work-item's runs begin of an operand that all rows share, and whether
  // there is one.
  kernel::ExprRef shared_element(const CoreWalk &behind, const nest::Linear &operand) const;
  std::int64_t shared_stride(const nest::Linear &operand) const {
    return operand.coeff[at(roles_.contiguous(input_))];
  }
  kernel::ExprRef shared_exists(const CoreWalk &behind) const;

private:
  // One run of a row.
  struct Copy {
    kernel::ExprRef to{};                    // element of a buffer
    kernel::ExprRef from{};                  // element of the input at the walk's start
    std::vector<kernel::ExprRef> subscripts; // of the checked dimensions, at the walk's start
    kernel::ExprRef exists{};                // null: always
    kernel::ExprRef row{};                   // of a turned side: point of the step
  };
  bool has_digits() const { return digits_ && !digits_->is_number(); }
  std::int64_t own_points() const; // pixels or channels
  kernel::ExprRef named(const std::string &name, kernel::ExprRef value) {
    return lower::named(b_, lets_, name, value);
  }
  kernel::ExprRef flag(const std::string &name, kernel::ExprRef condition);
  Positions reduced_zero() const;
  kernel::ExprRef source_row(kernel::ExprRef row) const;
  Positions place_row(kernel::ExprRef number, Copy &copy);
  void locate(Copy &copy, const Positions &positions);
  Copy straight_copy(kernel::ExprRef row, kernel::ExprRef first);
  Copy turned_copy(kernel::ExprRef row, kernel::ExprRef first);
  kernel::ExprRef place_in_tile(kernel::ExprRef row);
  // What a step of the walk adds to all copies.
  struct Moves {
    kernel::ExprRef offset{};
    kernel::ExprRef buffer{};
    std::vector<kernel::ExprRef> shifts; // of the checked dimensions
    kernel::ExprRef depth{};             // the step's first point
  };
  using Digits = std::optional<CoreDigits>;
  Moves moves_at(const CoreWalk &walk, kernel::ExprRef slot,
                 std::vector<kernel::StmtRef> &list) const;
  Moves moves_to(const Positions &points, kernel::ExprRef depth, kernel::ExprRef slot,
                 std::vector<kernel::StmtRef> &list) const;
  kernel::StmtRef start_copies(const Moves &moves, std::vector<kernel::StmtRef> list) const;
  kernel::ExprRef exists(std::int64_t number, const Moves &moves, const Digits &digits) const;
  kernel::ExprRef valid_elems(const Moves &moves, kernel::ExprRef valid) const;
  kernel::StmtRef start_copy(std::int64_t number, const Moves &moves) const;
  kernel::ExprRef in_depth(const Copy &copy, std::int64_t number, kernel::ExprRef first,
                           const Digits &digits) const;

  Context &cx_;
  kernel::Builder &b_;
  const schedule::CoreRoles &roles_;
  const schedule::CoreTile &tile_;
  const int input_;
  const schedule::CoreSideTile side_;
  const bool gathers_;
  const std::int64_t each_;  // elements of a copy
  const bool cuts_;          // the last copy of a row of the depth brings what is left of it
  const std::int64_t block_; // points of a depth that lies in blocks
  const schedule::Source source_;
  const kernel::BufferId from_;
  const kernel::ExprRef item_; // of those that copy
  const std::int64_t items_;
  const bool in_order_;
  Digits digits_;                     // of a turned side
  Digits behind_;                     // the same of the second walk
  nest::Linear flat_;                 // element by index
  std::vector<nest::Linear> checked_; // subscripts that may leave the tensor
  std::vector<std::int64_t> sizes_;   // that they stay below
  kernel::BufferId ring_{-1};
  kernel::ExprRef first_{};      // the block's first pixel or channel
  kernel::ExprRef run_{};        // element of the row at which this work-item's runs start
  kernel::ExprRef run_exists_{}; // of a turned side; null: always
  std::vector<Copy> copies_;
  std::vector<kernel::ExprRef> gathered_; // by copy, of the last gather
  std::vector<kernel::StmtRef> lets_;
};

} // namespace tilefuse::lower
