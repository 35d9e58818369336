// SPDX-License-Identifier: Apache-2.0
#include "nest/evaluate/accumulate_term.h"

#include <algorithm>

#include "base/error.h"
#include "base/index.h"
#include "nest/evaluate/accumulator.h"
#include "nest/evaluate/eval_expr.h"
#include "nest/evaluate/odometer.h"
#include "nest/index.h"

namespace tilefuse::nest {
namespace {

using program::Agg;

double aggregated(Agg agg, double acc, double value) {
  switch (agg) {
  case Agg::Sum:
    return acc + value;
  case Agg::Product:
    return acc * value;
  case Agg::Max:
    return std::max(acc, value);
  case Agg::Min:
    return std::min(acc, value);
  case Agg::Assign:
    return value;
  }
  internal_error("unknown aggregation", __FILE__, __LINE__);
}

// Position of the longest index, or past the end when there is none.
std::size_t longest_index(const Nest &nest) {
  const auto shorter = [](const Index &a, const Index &b) { return a.extent < b.extent; };
  return static_cast<std::size_t>(
      std::max_element(nest.indices.begin(), nest.indices.end(), shorter) - nest.indices.begin());
}

} // namespace

void for_each_row(const Nest &nest, std::span<const std::span<std::byte>> slots,
                  const VisitRow &visit) {
  const std::size_t row = longest_index(nest);
  const std::int64_t count = row < nest.indices.size() ? nest.indices[row].extent : 1;
  std::vector<Linear> forms; // inputs, then the accumulator
  for (const Operand &input : nest.inputs)
    forms.push_back(flat(input, nest.indices.size()));
  forms.push_back(accumulator_address(nest));
  const auto step = [&](std::size_t form) {
    return row < nest.indices.size() ? forms[form].coeff[row] : 0;
  };
  std::vector<std::size_t> loops;
  for (std::size_t i = 0; i < nest.indices.size(); ++i)
    if (i != row)
      loops.push_back(i);
  const auto points = static_cast<std::size_t>(count);
  std::vector<std::vector<double>> operands(nest.inputs.size(), std::vector<double>(points));
  Odometer odometer(nest.indices, loops, forms);
  do {
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      const std::span<const std::byte> from = slots[at(nest.inputs[k].slot)];
      for (std::int64_t i = 0; i < count; ++i)
        operands[k][at(i)] = load_element(from.data(), slot_of(nest, nest.inputs[k]).type,
                                          odometer.values()[k] + i * step(k));
    }
    visit(operands, odometer.values().back(), step(forms.size() - 1));
  } while (odometer.next());
}

std::vector<double> accumulate_terms(const Nest &nest,
                                     std::span<const std::span<std::byte>> slots) {
  std::vector<double> acc(static_cast<std::size_t>(output_points(nest)),
                          initial_value(nest.agg, nest.acc_type));
  for_each_row(nest, slots, [&](const auto &operands, std::int64_t first, std::int64_t step) {
    ExprRows rows;
    for (const std::vector<double> &operand : operands)
      rows.operands.push_back(operand.data());
    rows.count = operands.front().size();
    const std::vector<double> terms = evaluate_rows(nest.term, rows);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      double &into = acc[at(first + static_cast<std::int64_t>(i) * step)];
      into = aggregated(nest.agg, into, terms[i]);
    }
  });
  return acc;
}

} // namespace tilefuse::nest
