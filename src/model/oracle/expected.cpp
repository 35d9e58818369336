// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/expected.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/index.h"
#include "model/oracle/read_elements.h"
#include "nest/evaluate/accumulate.h"
#include "nest/evaluate/accumulate_term.h"
#include "nest/index.h"

namespace tilefuse::nest {
namespace {

using program::Agg;
using program::Comb;

// Sums past this may wrap, and partial products of more sums, or past this power of 2, may leave the
// range of floats: nothing is promised.
constexpr double kLargestInteger = 0x1p31;
constexpr double kLongestProduct = 32;
constexpr double kLargestExponent = 126;

// The nest at one output point: those indices have one value each.
Nest at_point(Nest nest, const std::vector<std::int64_t> &point) {
  const auto fix = [&](Linear &at) {
    for (std::size_t i = 0; i < point.size(); ++i) {
      at.constant += at.coeff[i] * point[i];
      at.coeff[i] = 0;
    }
  };
  for (std::size_t i = 0; i < point.size(); ++i)
    nest.indices[i].extent = 1;
  for (Operand &input : nest.inputs)
    for (Dim &dim : input.dims)
      fix(dim.at);
  for (Constraint &constraint : nest.constraints)
    fix(constraint.expr);
  return nest;
}

// The next float that is no less.
float no_less(double value) {
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) >= value
             ? nearest
             : std::nextafter(nearest, std::numeric_limits<float>::infinity());
}

// Magnitudes as floats become what they may be where the elements are not exact.
void widen_by(std::span<std::byte> magnitudes, const std::vector<double> &errors,
              const ReadElements &read) {
  read.for_each([&](std::int64_t i) {
    store_element(magnitudes.data(), DType::F32, i,
                  no_less(load_element(magnitudes.data(), DType::F32, i) + errors[at(i)]));
  });
}

double reduced_points(const Nest &nest) {
  double count = 1;
  for (const nest::IndexId i : reduced_indices(nest))
    count *= static_cast<double>(extent(nest, i));
  return count;
}

} // namespace

Expected::Expected(const Nest &nest, std::span<const std::span<std::byte>> slots,
                   std::span<const std::vector<std::int64_t>> points, double input_roundoff,
                   SlotErrors errors)
    : nest_(nest), input_roundoff_(input_roundoff), errors_(std::move(errors)),
      slots_(slots.begin(), slots.end()), values_{nest, {}}, magnitudes_{nest, {}}, terms_{nest,
                                                                                           slots_} {
  errors_.resize(slots_.size());
  const std::vector<ReadElements> read = read_elements(nest, points);
  widen_inputs(read);
  if (nest.agg == Agg::Product && nest.comb != Comb::Term)
    add_exponents(read);
  magnitudes_.nest.agg = Agg::Sum;
  if (nest.comb == Comb::Term)
    add_term_errors();
  for (std::size_t k = 0; k < nest.inputs.size() && nest.comb != Comb::Term; ++k)
    add_drift(k, read);
}

bool Expected::has_errors(SlotId slot) const { return !errors_[tilefuse::at(slot)].empty(); }

// Room that the system gives where it is written.
std::span<std::byte> Expected::floats(std::int64_t elems) {
  const std::size_t bytes = static_cast<std::size_t>(elems) * sizeof(float);
  made_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return {made_.back().get(), bytes};
}

// Elements of a type that float holds exactly, as float: accumulate() reads those in place.
std::span<std::byte> Expected::widened(Slot &slot, std::span<std::byte> from,
                                       const ReadElements &read, bool magnitudes) {
  const bool is_exact = size_bytes(slot.type) < 4 || slot.type == DType::F32;
  if (!magnitudes && (!is_exact || slot.type == DType::F32))
    return from;
  const std::span<std::byte> to = floats(slot.elems);
  read.for_each([&](std::int64_t i) {
    const double value = load_element(from.data(), slot.type, i);
    store_element(to.data(), DType::F32, i, magnitudes ? std::fabs(value) : value);
  });
  slot.type = DType::F32;
  return to;
}

void Expected::widen_inputs(const std::vector<ReadElements> &read) {
  const auto first_position = nest_.inputs.end() - static_cast<std::ptrdiff_t>(positions(nest_));
  for (std::size_t s = 0; s < slots_.size(); ++s) {
    const SlotId id{static_cast<int>(s)};
    const auto reads = [&](auto first, auto last) {
      return std::any_of(first, last, [&](const Operand &in) { return in.slot == id; });
    };
    const bool is_value = reads(nest_.inputs.begin(), first_position);
    values_.slots.push_back(widened(values_.nest.slots[id], slots_[s], read[s], false));
    magnitudes_.slots.push_back(widened(magnitudes_.nest.slots[id], slots_[s], read[s], is_value));
    if (is_value && has_errors(id))
      widen_by(magnitudes_.slots.back(), errors_[s], read[s]);
  }
}

// Factors above 1 as their logarithms, and below; elements of 0 make a product 0 whatever the others are.
void Expected::add_exponents(const std::vector<ReadElements> &read) {
  for (const bool is_above : {true, false}) {
    Inputs exponents = magnitudes_;
    exponents.nest.agg = Agg::Sum;
    if (nest_.comb == Comb::Mul)
      exponents.nest.comb = Comb::Add;
    for (std::size_t s = 0; s < exponents.slots.size(); ++s) {
      const std::span<std::byte> from = magnitudes_.slots[s];
      exponents.slots[s] = floats(nest_.slots[static_cast<SlotId>(s)].elems);
      read[s].for_each([&](std::int64_t i) {
        const double factor = load_element(from.data(), DType::F32, i);
        const double exponent = factor == 0 || (factor > 1) != is_above ? 0 : std::log2(factor);
        store_element(exponents.slots[s].data(), DType::F32, i, std::fabs(exponent));
      });
    }
    exponents_.push_back(std::move(exponents));
  }
}

// The nest that carries the errors of an input to the accumulator, each input in a slot of its own.
void Expected::add_drift(std::size_t input, const std::vector<ReadElements> &read) {
  const auto slot = static_cast<std::size_t>(nest_.inputs[input].slot);
  if (!has_errors(nest_.inputs[input].slot))
    return;
  Inputs drift{nest_, {}};
  drift.nest.slots.clear();
  if (nest_.agg != Agg::Sum)
    drift.nest.agg = Agg::Max;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const SlotId id = nest_.inputs[k].slot;
    const auto from = static_cast<std::size_t>(id);
    const bool is_position = k + positions(nest_) >= nest_.inputs.size();
    const bool multiplies = nest_.comb == Comb::Mul || nest_.comb == Comb::Pick;
    drift.nest.inputs[k].slot = static_cast<SlotId>(k);
    drift.nest.slots.push_back(magnitudes_.nest.slots[id]);
    drift.slots.push_back(magnitudes_.slots[from]);
    if (k != input && (multiplies || is_position))
      continue;
    drift.nest.slots.back().type = DType::F32;
    drift.slots.back() = floats(nest_.slots[id].elems);
    read[from].for_each(
        [&](std::int64_t i) { store_element(drift.slots.back().data(), DType::F32, i, 0); });
    if (k == input)
      widen_by(drift.slots.back(), errors_[slot], read[from]);
  }
  drifts_.push_back(std::move(drift));
}

// Each input is followed, behind the last, by one that reads its errors where it has any.
void Expected::add_term_errors() {
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const SlotId slot = nest_.inputs[k].slot;
    if (!has_errors(slot))
      continue;
    Operand error = nest_.inputs[k];
    error.slot = static_cast<SlotId>(static_cast<int>(terms_.slots.size()));
    terms_.nest.slots.push_back({DType::F64, nest_.slots[slot].elems});
    terms_.slots.push_back(std::as_writable_bytes(std::span(errors_[tilefuse::at(slot)])));
    terms_.nest.inputs.push_back(std::move(error));
  }
}

// How far the errors of inputs may carry the accumulator.
double Expected::drift(const std::vector<std::int64_t> &point) const {
  const bool carries = nest_.comb == Comb::None || nest_.comb == Comb::Pick ||
                       nest_.comb == Comb::Add ||
                       (nest_.comb == Comb::Mul && nest_.agg != Agg::Product);
  double sum = 0;
  for (const Inputs &inputs : drifts_)
    sum += carries ? std::max(accumulated(inputs, point), 0.0)
                   : std::numeric_limits<double>::infinity();
  return sum;
}

double Expected::accumulated(const Inputs &inputs, const std::vector<std::int64_t> &point) const {
  return accumulate(at_point(inputs.nest, point), inputs.slots).front();
}

Bounded Expected::accumulated_terms(const std::vector<std::int64_t> &point) const {
  Bounded sum{accumulate(at_point(nest_, point), slots_).front(), 0};
  double magnitudes = 0;
  const auto visit = [&](const auto &operands, std::int64_t, std::int64_t) {
    ExprPoint values;
    for (std::size_t i = 0; i < operands.front().size(); ++i) {
      values.operands.clear();
      std::size_t error = nest_.inputs.size();
      for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
        values.operands.push_back(
            {operands[k][i], has_errors(nest_.inputs[k].slot) ? operands[error++][i] : 0});
      const Bounded term = evaluate_bounded(nest_.term, values);
      magnitudes += std::fabs(term.value) + term.error;
      sum.error = nest_.agg == Agg::Sum ? sum.error + term.error : std::max(sum.error, term.error);
    }
  };
  for_each_row(at_point(terms_.nest, point), terms_.slots, visit);
  if (nest_.agg == Agg::Sum)
    sum.error += (reduced_points(nest_) + 1) * unit_roundoff(nest_.acc_type) * magnitudes;
  else if (nest_.agg == Agg::Product)
    sum.error = std::numeric_limits<double>::infinity();
  return sum;
}

bool Expected::is_in_range(const std::vector<std::int64_t> &point) const {
  if (nest_.comb == Comb::Add)
    return reduced_points(nest_) <= kLongestProduct;
  return std::all_of(exponents_.begin(), exponents_.end(), [&](const Inputs &exponents) {
    return accumulated(exponents, point) <= kLargestExponent;
  });
}

double Expected::accumulator_bound(double value, const std::vector<std::int64_t> &point) const {
  const double u = unit_roundoff(nest_.acc_type);
  const double terms = reduced_points(nest_);
  if (nest_.agg == Agg::Product) {
    const bool in_range = u == 0 ? std::fabs(value) < kLargestInteger : is_in_range(point);
    return in_range ? 2 * terms * u * std::fabs(value) : std::numeric_limits<double>::infinity();
  }
  if (nest_.agg != Agg::Sum && (nest_.comb == Comb::None || u == 0))
    return 0;
  const double sum = accumulated(magnitudes_, point);
  if (u == 0)
    return sum < kLargestInteger ? 0 : std::numeric_limits<double>::infinity();
  const double inputs = (2 + input_roundoff_) * input_roundoff_;
  return ((nest_.agg == Agg::Sum ? terms + 1 : 1) * u * (1 + inputs) + inputs) * sum;
}

Expectation Expected::at(const std::vector<std::int64_t> &point) const {
  ExprPoint values;
  if (nest_.comb == Comb::Term) {
    values.acc = accumulated_terms(point);
  } else if (!nest_.inputs.empty()) {
    values.acc.value = accumulated(values_, point);
    values.acc.error = accumulator_bound(values.acc.value, point) + drift(point);
  }
  for (const Operand &extra : nest_.extras) {
    const auto slot = static_cast<std::size_t>(extra.slot);
    const std::int64_t element = element_of(flat(extra, nest_.indices.size()), point);
    values.operands.push_back({load_element(slots_[slot].data(), nest_.slots[slot].type, element),
                               has_errors(extra.slot) ? errors_[slot][tilefuse::at(element)] : 0});
  }
  const DType type = type_of(nest_, nest_.out);
  const Bounded result = evaluate_bounded(program::cast(nest_.post, type), values);
  std::int64_t stored = 0;
  store_element(&stored, type, 0, result.value);
  const double held = load_element(&stored, type, 0);
  const double rounded = std::isfinite(held) ? std::fabs(held - result.value) : 0;
  return {element_of(flat(nest_.out, nest_.indices.size()), point), held,
          result.error + storage_error(type, result.value) + rounded};
}

std::vector<std::vector<std::int64_t>> output_points(const Nest &nest, std::int64_t count,
                                                     Random &random) {
  const auto outputs = static_cast<std::size_t>(nest.output_indices);
  double all = 1;
  for (std::size_t i = 0; i < outputs; ++i)
    all *= static_cast<double>(extent(nest, i));
  const bool whole = all <= static_cast<double>(count);
  std::vector<std::vector<std::int64_t>> points;
  std::vector<std::int64_t> point(outputs, 0);
  for (std::int64_t n = whole ? static_cast<std::int64_t>(all) : count; n > 0; --n) {
    points.push_back(point);
    if (!whole) {
      for (std::size_t i = 0; i < outputs; ++i)
        point[i] =
            n == 2 ? nest.indices[i].extent - 1 : random.between(0, nest.indices[i].extent - 1);
      continue;
    }
    for (std::size_t i = outputs; i-- > 0 && ++point[i] == nest.indices[i].extent;)
      point[i] = 0;
  }
  return points;
}

} // namespace tilefuse::nest
