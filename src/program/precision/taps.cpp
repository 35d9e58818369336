// SPDX-License-Identifier: Apache-2.0
#include "program/precision/taps.h"

#include <algorithm>
#include <limits>

#include "base/index.h"
#include "program/rewrite/rewriter.h"

namespace tilefuse::program {
namespace {

// Closed.
struct Range {
  std::int64_t low = std::numeric_limits<std::int32_t>::min();
  std::int64_t high = std::numeric_limits<std::int32_t>::max();
  bool is_known() const { return high - low < std::numeric_limits<std::int32_t>::max(); }
};

bool is_whole(const Affine &form) {
  return form.constant.is_integer() &&
         std::all_of(form.coeff.begin(), form.coeff.end(),
                     [](const Rational &c) { return c.is_integer(); });
}

// 0 <= form < size, where a form has one index with coefficient 1.
void restrict(std::vector<Range> &ranges, const Affine &form, std::int64_t size) {
  std::size_t index = form.coeff.size();
  for (std::size_t i = 0; i < form.coeff.size(); ++i) {
    if (form.coeff[i].is_zero())
      continue;
    if (index != form.coeff.size() || form.coeff[i] != Rational(1))
      return;
    index = i;
  }
  if (index == form.coeff.size() || !form.constant.is_integer())
    return;
  Range &range = ranges[index];
  range.low = std::max(range.low, -form.constant.num());
  range.high = std::min(range.high, size - 1 - form.constant.num());
}

void restrict(std::vector<Range> &ranges, const std::vector<Affine> &subscripts,
              const Shape &shape) {
  for (std::size_t d = 0; d < shape.size(); ++d)
    restrict(ranges, subscripts[d], shape[d]);
}

// Of the terms of a form whose index is, or is not, one of the result.
Range range_of(const Affine &form, const std::vector<Range> &ranges,
               const std::vector<bool> &is_taken) {
  Range range{0, 0};
  for (std::size_t i = 0; i < form.coeff.size(); ++i) {
    if (form.coeff[i].is_zero() || !is_taken[i])
      continue;
    const std::int64_t c = form.coeff[i].num();
    range.low += std::min(c * ranges[i].low, c * ranges[i].high);
    range.high += std::max(c * ranges[i].low, c * ranges[i].high);
  }
  return range;
}

class Counting {
public:
  Counting(const Program &program, const Statement &statement)
      : program_(program), body_(std::get<Contraction>(statement.body)),
        result_(program[statement.out].shape), ranges_(body_.indices.size()),
        is_result_(body_.indices.size(), false) {}

  Taps run() {
    restrict(ranges_, body_.out, result_);
    for (const Constraint &constraint : body_.constraints)
      restrict(ranges_, constraint.expr, constraint.bound);
    for (const Access &access : body_.in)
      restrict(ranges_, access.subscripts, program_[access.tensor].shape);
    if (!covers_result() || !is_bounded())
      return {};
    std::int64_t points = 1;
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      if (!is_result_[i] &&
          __builtin_mul_overflow(points, ranges_[i].high - ranges_[i].low + 1, &points))
        return {};
    Taps taps{true, points, points};
    for (const Access &access : body_.in)
      for (std::size_t d = 0; d < access.subscripts.size(); ++d)
        look(access.subscripts[d], program_[access.tensor].shape[d], taps);
    for (const Constraint &constraint : body_.constraints)
      look(constraint.expr, constraint.bound, taps);
    return taps.reaches_all ? taps : Taps{false, {}, points};
  }

  std::optional<std::vector<Reach>> reach(std::size_t operand) {
    restrict(ranges_, body_.out, result_);
    for (const Constraint &constraint : body_.constraints)
      restrict(ranges_, constraint.expr, constraint.bound);
    for (std::size_t k = 0; k < body_.in.size(); ++k)
      if (k != operand)
        restrict(ranges_, body_.in[k].subscripts, program_[body_.in[k].tensor].shape);
    if (!is_bounded())
      return std::nullopt;
    std::vector<Reach> reach;
    for (const Affine &subscript : body_.in[operand].subscripts) {
      if (!is_whole(subscript))
        return std::nullopt;
      const Range range =
          range_of(subscript, ranges_, std::vector<bool>(body_.indices.size(), true));
      const std::int64_t shift = subscript.constant.num();
      reach.push_back({range.low + shift, range.high + shift});
    }
    return reach;
  }

private:
  // Each dimension has an index of its own that takes all of its values.
  bool covers_result() {
    for (std::size_t d = 0; d < result_.size(); ++d) {
      const int index = plain_index(body_.out[d]);
      if (index < 0 && result_[d] == 1 && body_.out[d].constant.is_zero() &&
          std::all_of(body_.out[d].coeff.begin(), body_.out[d].coeff.end(),
                      [](const Rational &c) { return c.is_zero(); }))
        continue;
      if (index < 0 || is_result_[at(index)] || ranges_[at(index)].low != 0 ||
          ranges_[at(index)].high != result_[d] - 1)
        return false;
      is_result_[at(index)] = true;
    }
    return true;
  }

  bool is_bounded() const {
    return std::all_of(ranges_.begin(), ranges_.end(), [](const Range &range) {
      return range.is_known() && range.low <= range.high;
    });
  }

  // A subscript 0 <= form < size.
  void look(const Affine &form, std::int64_t size, Taps &taps) const {
    std::vector<bool> others = is_result_;
    others.flip();
    if (!is_whole(form)) {
      taps = {};
      return;
    }
    Range outer = range_of(form, ranges_, is_result_);
    const Range inner = range_of(form, ranges_, others);
    outer.low += form.constant.num();
    outer.high += form.constant.num();
    if (outer.low + inner.low >= 0 && outer.high + inner.high < size)
      return;
    taps.count.reset();
    // Windows that step by no more than what they step over leave no element without a point.
    const std::int64_t step = widest_step(form, others);
    if (outer.low + inner.high < 0 || outer.high + inner.low >= size || step > size)
      taps.reaches_all = false;
  }

  static std::int64_t widest_step(const Affine &form, const std::vector<bool> &is_taken) {
    std::int64_t step = 0;
    for (std::size_t i = 0; i < form.coeff.size(); ++i)
      if (is_taken[i] && !form.coeff[i].is_zero())
        step = std::max(step, std::abs(form.coeff[i].num()));
    return step;
  }

  const Program &program_;
  const Contraction &body_;
  const Shape &result_;
  std::vector<Range> ranges_;
  std::vector<bool> is_result_;
};

} // namespace

std::optional<std::vector<Reach>> reach_of(const Program &program, const Statement &statement,
                                           std::size_t k) {
  return Counting(program, statement).reach(k);
}

Taps taps_of(const Program &program, const Statement &statement) {
  return Counting(program, statement).run();
}

} // namespace tilefuse::program
