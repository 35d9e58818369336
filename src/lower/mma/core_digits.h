// SPDX-License-Identifier: Apache-2.0
// The points of depth that a work-item copies of an input that is turned (schedule/mma/core.h),
// where they are several reduced indices taken as one number: each copy's point as digits in
// registers, which step on without a division.
//
//   depth n 32, y 14, x 14 of an image:   digits x 14, y 14, n 32 (rows and columns are checked)
//   of its errors, which lie in a row:    one digit of 6272
#pragma once

#include <vector>

#include "lower/mma/gemm_part.h"
#include "schedule/staging.h"

namespace tilefuse::lower {

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

} // namespace tilefuse::lower
