// SPDX-License-Identifier: Apache-2.0
// The ring of one input under a core instruction (schedule/mma/core.h), and the walk over the
// reduced indices that its copies follow. A second walk may follow behind, over what has been
// copied (lower/mma/core_map.h).
#pragma once

#include <optional>
#include <vector>

#include "base/index.h"
#include "lower/mma/gemm_part.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

// Counters of the reduced indices: the depth in steps, slowest, then the walked ones.
class CoreWalk : GemmPart {
public:
  explicit CoreWalk(Context &context);
  // All counters 0.
  StmtRef start() const;
  // To the next step.
  StmtRef advance() const;
  // The first point of the current step by index; 0 for output indices. Of a depth that is a number
  // of several indices: the number at its last index; of one in blocks, the block at theirs.
  Positions points() const;

private:
  struct Counter {
    IndexId index{};
    std::int64_t end = 1;  // values that it takes
    std::int64_t step = 1; // points of each
  };
  BufferId values_{-1};
  std::vector<Counter> counters_; // fastest first
};

// The points of depth that a work-item copies of an input that is turned (schedule/mma/core.h),
// where they are several reduced indices taken as one number: each copy's point as digits in
// registers, which step on without a division.
//
//   depth n 32, y 14, x 14 of an image:   digits x 14, y 14, n 32 (rows and columns are checked)
//   of its errors, which lie in a row:    one digit of 6272
class CoreDigits : GemmPart {
public:
  // Indices next to each other are one digit where the input lies as if they were one index and no
  // dimension is checked that they move.
  CoreDigits(Context &context, const schedule::Source &source);

  // One digit: the number itself, and copies need no registers.
  bool is_number() const { return digits_.size() == 1; }
  // The index that stands for the number, with the number's strides.
  IndexId fastest() const { return digits_.front().index; }
  // The indices whose place in the input a digit of another one says.
  const std::vector<IndexId> &merged() const { return merged_; }

  // Registers for so many copies.
  void reserve(std::int64_t copies);
  // To the point `row` of the first step.
  StmtRef start(std::int64_t copy, ExprRef row) const;
  // To the next step.
  StmtRef advance(std::int64_t copy) const;
  // The point, by index; 0 for all other indices.
  std::vector<ExprRef> point(std::int64_t copy) const;
  // Whether there is such a point; null: always.
  ExprRef exists(std::int64_t copy) const;

private:
  struct Digit {
    IndexId index{}; // the fastest of those it stands for
    std::int64_t end = 1;
  };
  static bool joins(const schedule::Source &source, const Digit &fast, const Digit &slow);
  ExprRef number(std::int64_t copy, std::size_t digit) const;

  std::int64_t step_;         // points of one step
  bool is_whole_;             // steps divide the number of points
  std::vector<Digit> digits_; // fastest first
  std::vector<IndexId> merged_;
  BufferId values_{-1}; // digits of the first copy, then of the second, …
};

// What a side copies: an input of `nest`, which lies in a buffer.
struct CoreSource {
  const nest::Nest &nest;
  BufferId from{-1};
  int number = 0;         // of what the ring holds of the input (CoreFeed::copied)
  BufferId ring{-1};      // one that exists; -1: one of its own
  std::int64_t items = 0; // that copy, the first of the block; 0: all
  bool in_order = false;  // rows of a straight filter are not dealt out
};

// Rows of a block's tile of one input, and this work-item's copies of them.
class CoreSide : GemmPart {
public:
  CoreSide(Context &context, int input, const CoreSource &source);
  BufferId ring() const { return ring_; }
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
  StmtRef declare(ExprRef first);
  // Starts them for the step that begins at `points`, into buffer number `slot`.
  StmtRef start(const Positions &points, ExprRef slot) const;

  // The same where work-items gather: loads of that step (none where `valid` does not hold; null: it
  // does), and what stores them into buffer number `slot`.
  bool gathers() const { return gathers_; }
  StmtRef gather(const Positions &points, ExprRef valid);
  StmtRef put(ExprRef slot) const;

  // A second walk over the same copies: where each lies in buffer number `slot`, and whether the
  // tensor has it (null: it does); to its next step.
  struct Run {
    ExprRef place{};
    ExprRef exists{};
  };
  void follow();
  std::vector<Run> runs(const Positions &points, ExprRef slot, Stmts &list) const;
  StmtRef next_runs() const;
  std::int64_t run_elems() const { return each_; }
  // The element at which this work-item's runs begin of an operand that all rows share, and whether
  // there is one.
  ExprRef shared_element(Positions points, const nest::Linear &operand) const;
  std::int64_t shared_stride(const nest::Linear &operand) const {
    return operand.coeff[at(roles_.contiguous(input_))];
  }
  ExprRef shared_exists(const Positions &points) const;

private:
  // One run of a row.
  struct Copy {
    ExprRef to{};                    // element of a buffer
    ExprRef from{};                  // element of the input at the walk's start
    std::vector<ExprRef> subscripts; // of the checked dimensions, at the walk's start
    ExprRef exists{};                // null: always
    ExprRef row{};                   // of a turned side: point of the step
  };
  bool has_digits() const { return digits_ && !digits_->is_number(); }
  std::int64_t own_points() const; // pixels or channels
  std::int64_t row_points() const;
  std::int64_t apart() const;
  ExprRef named(const std::string &name, ExprRef value) {
    return lower::named(b_, lets_, name, value);
  }
  ExprRef flag(const std::string &name, ExprRef condition);
  Positions reduced_zero() const;
  ExprRef source_row(ExprRef row) const;
  Positions place_row(ExprRef number, Copy &copy);
  void locate(Copy &copy, const Positions &positions);
  Copy straight_copy(ExprRef row, ExprRef first);
  Copy turned_copy(ExprRef row, ExprRef first);
  ExprRef place_in_tile(ExprRef row);
  // What a step of the walk adds to all copies.
  struct Moves {
    ExprRef offset{};
    ExprRef buffer{};
    std::vector<ExprRef> shifts; // of the checked dimensions
    ExprRef depth{};             // the step's first point
  };
  using Digits = std::optional<CoreDigits>;
  ExprRef depth_of(const Positions &points) const;
  Moves moves_to(Positions points, ExprRef slot, Stmts &list) const;
  ExprRef from_index(std::int64_t number, const Moves &moves) const;
  ExprRef exists(std::int64_t number, const Moves &moves, const Digits &digits) const;
  ExprRef valid_elems(const Moves &moves, ExprRef valid) const;
  ExprRef in_depth(const Copy &copy, std::int64_t number, ExprRef first,
                   const Digits &digits) const;

  const int input_;
  const schedule::CoreSideTile side_;
  const bool gathers_;
  const std::int64_t each_;  // elements of a copy
  const bool cuts_;          // the last copy of a row brings what is left of it
  const std::int64_t block_; // points of a depth that lies in blocks
  const schedule::Source source_;
  const BufferId from_;
  const std::int64_t items_;
  const bool in_order_;
  Digits digits_;                     // of a turned side
  Digits behind_;                     // the same of the second walk
  nest::Linear flat_;                 // element by index
  std::vector<nest::Linear> checked_; // subscripts that may leave the tensor
  std::vector<std::int64_t> sizes_;   // that they stay below
  BufferId ring_{-1};
  ExprRef first_{};      // the block's first pixel or channel
  ExprRef run_{};        // element of the row at which this work-item's runs start
  ExprRef run_exists_{}; // of a turned side; null: always
  std::vector<Copy> copies_;
  std::vector<ExprRef> gathered_; // by copy, of the last gather
  Stmts lets_;
};

} // namespace tilefuse::lower
