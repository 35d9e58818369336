// SPDX-License-Identifier: Apache-2.0
#include "nest/nest.h"

#include <algorithm>
#include <limits>

#include "base/index.h"
#include "nest/integer/checked.h"
#include "target/dtype_traits.h"

namespace tilefuse::nest {

std::size_t positions(const Nest &nest) {
  if (nest.comb != program::Comb::Pick)
    return 0;
  const std::vector<Dim> &dims = nest.inputs[0].dims;
  return static_cast<std::size_t>(
      std::count_if(dims.begin(), dims.end(), [](const Dim &dim) { return dim.by.has_value(); }));
}

Linear flat(const Operand &operand, std::size_t indices) {
  Linear sum{operand.offset, std::vector<std::int64_t>(indices, 0)};
  for (const Dim &dim : operand.dims) {
    sum.constant = checked_add(sum.constant, checked_mul(dim.stride, dim.at.constant));
    for (std::size_t i = 0; i < indices; ++i)
      sum.coeff[i] = checked_add(sum.coeff[i], checked_mul(dim.stride, dim.at.coeff[i]));
  }
  return sum;
}

DType input_type(const Nest &nest, std::size_t input) {
  if (input >= nest.inputs.size() - positions(nest))
    return nest.slots[nest.inputs[input].slot].type;
  if (!program::compares(nest.comb) || input > 1)
    return nest.acc_type;
  const auto slot_type = [&](std::size_t k) { return nest.slots[nest.inputs[k].slot].type; };
  const DType type = accumulator_type(program::promote(slot_type(0), slot_type(1)));
  return type == DType::Bool ? DType::I32 : type;
}

bool multiplies_f32(const Nest &nest) {
  return nest.agg == program::Agg::Sum && nest.comb == program::Comb::Mul &&
         nest.acc_type == DType::F32 &&
         std::all_of(nest.inputs.begin(), nest.inputs.end(), [&](const Operand &input) {
           return nest.slots[input.slot].type == DType::F32;
         });
}

double initial_value(program::Agg agg, DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (agg) {
  case program::Agg::Sum:
  case program::Agg::Assign:
    return 0;
  case program::Agg::Product:
    return 1;
  case program::Agg::Max:
    return is_float(type) ? -kInfinity : lowest(type);
  case program::Agg::Min:
    return is_float(type) ? kInfinity : highest(type);
  }
  internal_error("unknown aggregation", __FILE__, __LINE__);
}

std::int64_t output_points(const Nest &nest) {
  std::int64_t points = 1;
  for (const IndexId i : ids<IndexId>(nest.output_indices))
    points = checked_mul(points, nest.indices[i].extent);
  return points;
}

double operations(const program::Expr &expr) {
  double count = expr.kind == program::Expr::Kind::Call ? 1 : 0;
  for (const program::Expr &arg : expr.args)
    count += operations(arg);
  return count;
}

double flops(const Nest &nest) {
  double outputs = 1;
  double points = 1;
  for (const IndexId i : nest.indices.ids()) {
    const auto extent = static_cast<double>(nest.indices[i].extent);
    points *= extent;
    if (to_int(i) < nest.output_indices)
      outputs *= extent;
  }
  double per_point = 0;
  if (!nest.inputs.empty())
    per_point = (nest.agg == program::Agg::Assign ? 0 : 1) +
                (nest.comb == program::Comb::Term ? operations(nest.term)
                                                  : static_cast<double>(nest.inputs.size() - 1));
  return per_point * points + operations(nest.post) * outputs;
}

} // namespace tilefuse::nest
