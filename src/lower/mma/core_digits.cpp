// SPDX-License-Identifier: Apache-2.0
#include "lower/mma/core_digits.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::lower {

namespace {

bool is_checked(const schedule::Source &source, IndexId index) {
  return std::any_of(source.dims.begin(), source.dims.end(), [&](const nest::Dim &dim) {
    return dim.guarded && dim.at.coeff[at(index)] != 0;
  });
}

} // namespace

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

} // namespace tilefuse::lower
