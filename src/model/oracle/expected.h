// SPDX-License-Identifier: Apache-2.0
// What a correct kernel may store: each result in double precision, and how far rounding in the
// nest's own types can carry another order of the same operations from it.
//
// An accumulator of n terms of a floating type with unit roundoff u lies within (n + 1) u
// sum|terms| of the exact sum for every order of summation (Higham 2002, section 4.2); products
// multiply 1 + u; maxima and copies are exact. Inputs that are not exact themselves, of a tensor
// that the kernel computes on the way, add their errors: those of a sum, or the largest. Post-ops
// and terms carry the errors of the accumulator and of their operands by evaluating each operation
// at the ends of its arguments' intervals and adding its own rounding: the accuracy that OpenCL C
// 1.2 section 7.4 demands of a function. Integers are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/random.h"
#include "model/oracle/bounded_expr.h"
#include "nest/nest.h"

namespace tilefuse::nest {

struct Expectation {
  std::int64_t element = 0; // of the out slot
  double value = 0;         // as its type holds it
  double bound = 0;         // |stored - value| of a correct kernel
};

// By slot and element, how far from the value given a correct kernel's may be; empty where exact.
using SlotErrors = std::vector<std::vector<double>>;

class ReadElements; // read_elements.h

// Of a nest at some points of its output indices; only elements that these read cost anything.
class Expected {
public:
  // `slots` are as they are before the kernel runs, and outlive this. `input_roundoff` is the
  // relative error with which each input of a product may be read.
  Expected(const Nest &nest, std::span<const std::span<std::byte>> slots,
           std::span<const std::vector<std::int64_t>> points, double input_roundoff = 0,
           SlotErrors errors = {});

  // At one of the points. May be called by several threads.
  Expectation at(const std::vector<std::int64_t> &point) const;

private:
  // What accumulate() reads: a nest without post-ops, and its slots, which it only reads.
  struct Inputs {
    Nest nest;
    std::vector<std::span<std::byte>> slots;
  };
  std::span<std::byte> floats(std::int64_t elems);
  std::span<std::byte> widened(Slot &slot, std::span<std::byte> from, const ReadElements &read,
                               bool magnitudes);
  // Whether the elements of a slot are not exact.
  bool has_errors(SlotId slot) const;
  void widen_inputs(const std::vector<ReadElements> &read);
  void add_drift(std::size_t input, const std::vector<ReadElements> &read);
  void add_term_errors();
  double accumulated(const Inputs &inputs, const std::vector<std::int64_t> &point) const;
  double drift(const std::vector<std::int64_t> &point) const;
  // Of a nest with a term: the accumulator, with the errors of its terms and of their sum.
  Bounded accumulated_terms(const std::vector<std::int64_t> &point) const;
  double accumulator_bound(double value, const std::vector<std::int64_t> &point) const;
  void add_exponents(const std::vector<ReadElements> &read);
  // Of a product: no partial product, in whatever order, leaves the range of normal numbers.
  bool is_in_range(const std::vector<std::int64_t> &point) const;

  Nest nest_;
  double input_roundoff_;
  SlotErrors errors_;
  std::vector<std::span<std::byte>> slots_;
  std::vector<std::unique_ptr<std::byte[]>> made_; // elements that no point reads are not written
  Inputs values_;
  Inputs magnitudes_; // every element replaced by its magnitude, every aggregation by a sum
  std::vector<Inputs> exponents_; // of a product: factors above 1 as log2, and below, to be summed
  std::vector<Inputs> drifts_;    // by input that is not exact: its errors, times what they meet
  Inputs terms_;                  // of a nest with a term: the errors of its inputs behind them
};

// `count` points of the output indices: all of them in order when there are no more, else the
// first, the last and random others.
std::vector<std::vector<std::int64_t>> output_points(const Nest &nest, std::int64_t count,
                                                     Random &random);

} // namespace tilefuse::nest
