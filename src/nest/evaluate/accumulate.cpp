// SPDX-License-Identifier: Apache-2.0
// Runs along rows of the longest index, whichever it is; the points of a row that count form an
// interval, because every condition is linear. An odometer walks the other indices.
#include "nest/evaluate/accumulate.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "base/index.h"
#include "nest/evaluate/accumulate_pick.h"
#include "nest/evaluate/accumulate_term.h"
#include "nest/evaluate/accumulator.h"
#include "nest/evaluate/odometer.h"
#include "nest/index.h"
#include "nest/integer/checked.h"

namespace tilefuse::nest {
namespace {

using program::Agg;
using program::Comb;

constexpr std::size_t kMaxInputs = 3;

// The elements of an input's slot: floats in place where `may_stay`, else a converted copy rounded to
// the type they are compared in.
class Elements {
public:
  Elements(const Nest &nest, std::size_t input, std::span<const std::byte> bytes, bool may_stay) {
    const Slot &slot = slot_of(nest, nest.inputs[input]);
    if (may_stay && is_floats(slot, bytes)) {
      floats_ = reinterpret_cast<const float *>(bytes.data());
      return;
    }
    const bool rounds = program::compares(nest.comb) && input_type(nest, input) == DType::F32;
    copy_.resize(static_cast<std::size_t>(slot.elems));
    for (std::int64_t i = 0; i < slot.elems; ++i) {
      const double value = load_element(bytes.data(), slot.type, i);
      copy_[at(i)] = rounds ? static_cast<double>(static_cast<float>(value)) : value;
    }
  }

  static bool is_floats(const Slot &slot, std::span<const std::byte> bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return slot.type == DType::F32 && address % alignof(float) == 0;
  }
  bool is_float() const { return floats_ != nullptr; }
  const void *data() const { return floats_ ? static_cast<const void *>(floats_) : copy_.data(); }

private:
  const float *floats_ = nullptr;
  std::vector<double> copy_;
};

// A row of points: where its operands and accumulators start and how far apart they are.
struct Row {
  const void *a = nullptr;
  const void *b = nullptr;
  const void *c = nullptr;
  double *acc = nullptr;
  std::int64_t at_a = 0, at_b = 0, at_c = 0, at_acc = 0;
  std::int64_t step_a = 0, step_b = 0, step_c = 0, step_acc = 0;
  std::int64_t count = 0;
};

template <Agg agg> double aggregate(double acc, double value) {
  if constexpr (agg == Agg::Sum)
    return acc + value;
  else if constexpr (agg == Agg::Product)
    return acc * value;
  else if constexpr (agg == Agg::Max)
    return value > acc ? value : acc;
  else if constexpr (agg == Agg::Min)
    return value < acc ? value : acc;
  else
    return value;
}

template <Agg agg, Comb comb, class A, class B> void run_row(const Row &row) {
  const A *a = static_cast<const A *>(row.a) + row.at_a;
  const B *b = static_cast<const B *>(row.b) + row.at_b;
  const A *c = comb == Comb::Select ? static_cast<const A *>(row.c) + row.at_c : nullptr;
  const auto value = [&](std::int64_t i) {
    const auto left = static_cast<double>(a[i * row.step_a]);
    if constexpr (comb == Comb::None)
      return left;
    else if constexpr (comb == Comb::Mul)
      return left * static_cast<double>(b[i * row.step_b]);
    else if constexpr (comb == Comb::Add)
      return left + static_cast<double>(b[i * row.step_b]);
    else if constexpr (comb == Comb::Equal)
      return left == static_cast<double>(b[i * row.step_b]) ? 1.0 : 0.0;
    else
      return left == static_cast<double>(b[i * row.step_b]) ? static_cast<double>(c[i * row.step_c]) : 0.0;
  };
  double *acc = row.acc + row.at_acc;
  if (row.step_acc != 0) {
    for (std::int64_t i = 0; i < row.count; ++i, acc += row.step_acc)
      *acc = aggregate<agg>(*acc, value(i));
    return;
  }
  double total = *acc;
  for (std::int64_t i = 0; i < row.count; ++i)
    total = aggregate<agg>(total, value(i));
  *acc = total;
}

using RowFunction = void (*)(const Row &);

template <Agg agg, Comb comb> RowFunction row_of_types(bool float_a, bool float_b) {
  if (float_a)
    return float_b ? run_row<agg, comb, float, float> : run_row<agg, comb, float, double>;
  return float_b ? run_row<agg, comb, double, float> : run_row<agg, comb, double, double>;
}

template <Agg agg> RowFunction row_of_comb(Comb comb, bool float_a, bool float_b) {
  switch (comb) {
  case Comb::None:
    return row_of_types<agg, Comb::None>(float_a, float_a);
  case Comb::Mul:
    return row_of_types<agg, Comb::Mul>(float_a, float_b);
  case Comb::Add:
    return row_of_types<agg, Comb::Add>(float_a, float_b);
  case Comb::Equal:
    return row_of_types<agg, Comb::Equal>(float_a, float_a);
  case Comb::Select:
    return row_of_types<agg, Comb::Select>(float_a, float_a);
  case Comb::Term:
  case Comb::Pick:
    break;
  }
  internal_error("unknown combination", __FILE__, __LINE__);
}

RowFunction row_function(Agg agg, Comb comb, bool float_a, bool float_b) {
  switch (agg) {
  case Agg::Sum:
    return row_of_comb<Agg::Sum>(comb, float_a, float_b);
  case Agg::Product:
    return row_of_comb<Agg::Product>(comb, float_a, float_b);
  case Agg::Max:
    return row_of_comb<Agg::Max>(comb, float_a, float_b);
  case Agg::Min:
    return row_of_comb<Agg::Min>(comb, float_a, float_b);
  case Agg::Assign:
    return row_of_comb<Agg::Assign>(comb, float_a, float_b);
  }
  internal_error("unknown aggregation", __FILE__, __LINE__);
}

// A form along the row index, and the values at which it satisfies its condition.
struct RowCondition {
  std::int64_t step = 0;
  std::int64_t bound = 0;

  // Narrows [first, last] to the points of the row at which 0 <= base + step * i < bound.
  void narrow_row(std::int64_t base, std::int64_t &first, std::int64_t &last) const {
    if (step == 0) {
      if (base < 0 || base >= bound)
        last = first - 1;
      return;
    }
    const std::int64_t low = step > 0 ? -base : base - bound + 1;
    const std::int64_t high = step > 0 ? bound - 1 - base : base;
    const std::int64_t stride = step > 0 ? step : -step;
    if (low > 0)
      first = std::max(first, (low - 1) / stride + 1);
    last = high < 0 ? first - 1 : std::min(last, high / stride);
  }
};

class Accumulation {
public:
  Accumulation(const Nest &nest, std::span<const std::span<std::byte>> slots)
      : nest_(nest), row_index_(longest()) {
    const bool may_stay = !program::compares(nest.comb) || all_floats(slots);
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      const Operand &input = nest.inputs[k];
      elements_.emplace_back(nest, k, slots[at(input.slot)], may_stay);
      forms_.push_back(flat(input, nest.indices.size()));
    }
    forms_.resize(kMaxInputs, forms_.front());
    forms_.push_back(accumulator_address(nest));
    for (const Operand &input : nest.inputs)
      for (const Dim &dim : input.dims)
        if (dim.guarded)
          add_condition(dim.at, dim.size);
    for (const Constraint &constraint : nest.constraints)
      add_condition(constraint.expr, constraint.bound);
  }

  std::vector<double> run() {
    std::int64_t outputs = 1;
    for (const IndexId i : output_indices(nest_))
      outputs = checked_mul(outputs, extent(nest_, i));
    std::vector<double> acc(static_cast<std::size_t>(outputs),
                            initial_value(nest_.agg, nest_.acc_type));
    Row row;
    const Elements &second = elements_[elements_.size() > 1 ? 1 : 0];
    row.a = elements_.front().data();
    row.b = second.data();
    row.c = elements_.back().data();
    row.acc = acc.data();
    row.step_a = step(forms_[0]);
    row.step_b = step(forms_[1]);
    row.step_c = step(forms_[2]);
    row.step_acc = step(forms_[kMaxInputs]);
    walk(row, row_function(nest_.agg, nest_.comb, elements_.front().is_float(), second.is_float()));
    return acc;
  }

private:
  // What is compared, and selected, is of one type in memory.
  bool all_floats(std::span<const std::span<std::byte>> slots) const {
    return std::all_of(nest_.inputs.begin(), nest_.inputs.end(), [&](const Operand &input) {
      return Elements::is_floats(slot_of(nest_, input), slots[at(input.slot)]);
    });
  }

  // Position of the longest index, or past the end when there is none.
  std::size_t longest() const {
    const auto shorter = [](const Index &a, const Index &b) { return a.extent < b.extent; };
    return static_cast<std::size_t>(
        std::max_element(nest_.indices.begin(), nest_.indices.end(), shorter) -
        nest_.indices.begin());
  }

  std::int64_t step(const Linear &form) const {
    return row_index_ < form.coeff.size() ? form.coeff[row_index_] : 0;
  }

  void add_condition(const Linear &form, std::int64_t bound) {
    conditions_.push_back({step(form), bound});
    forms_.push_back(form);
  }

  void walk(Row row, RowFunction run) const {
    std::vector<std::size_t> loops;
    for (std::size_t i = 0; i < nest_.indices.size(); ++i)
      if (i != row_index_)
        loops.push_back(i);
    const std::int64_t points =
        row_index_ < nest_.indices.size() ? nest_.indices[row_index_].extent : 1;
    Odometer odometer(nest_.indices, loops, forms_);
    do {
      const std::vector<std::int64_t> &at = odometer.values();
      std::int64_t first = 0;
      std::int64_t last = points - 1;
      for (std::size_t c = 0; c < conditions_.size() && first <= last; ++c)
        conditions_[c].narrow_row(at[c + kMaxInputs + 1], first, last);
      if (first > last)
        continue;
      row.at_a = at[0] + first * row.step_a;
      row.at_b = at[1] + first * row.step_b;
      row.at_c = at[2] + first * row.step_c;
      row.at_acc = at[kMaxInputs] + first * row.step_acc;
      row.count = last - first + 1;
      run(row);
    } while (odometer.next());
  }

  const Nest &nest_;
  std::size_t row_index_;
  std::vector<Elements> elements_;
  std::vector<Linear> forms_; // inputs a, b and c, the accumulator, then the conditions
  std::vector<RowCondition> conditions_;
};

} // namespace

std::vector<double> accumulate(const Nest &nest, std::span<const std::span<std::byte>> slots) {
  if (nest.comb == Comb::Pick)
    return accumulate_picks(nest, slots);
  return nest.comb == Comb::Term ? accumulate_terms(nest, slots) : Accumulation(nest, slots).run();
}

} // namespace tilefuse::nest
