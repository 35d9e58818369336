// SPDX-License-Identifier: Apache-2.0
#include "schedule/dots.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "target/dtype_traits.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

bool fits(DType type, DType into) {
  return !is_float(type) && type != DType::Bool && lowest(type) >= lowest(into) &&
         highest(type) <= highest(into);
}

DType type_of_input(const Nest &nest, int input) { return type_of(nest, nest.inputs[at(input)]); }

bool is_in_order(const Nest &nest, const DotOp &op) {
  return fits(type_of_input(nest, 0), op.a) && fits(type_of_input(nest, 1), op.b);
}

} // namespace

bool fits(const Nest &nest, const DotOp &op) {
  if (nest.inputs.size() != 2 || nest.agg != program::Agg::Sum || nest.comb != program::Comb::Mul ||
      nest.acc_type != op.sum || !nest.constraints.empty())
    return false;
  return is_in_order(nest, op) ||
         (fits(type_of_input(nest, 0), op.b) && fits(type_of_input(nest, 1), op.a));
}

DotSide dot_side(const Nest &nest, const DotOp &op, int input) {
  return is_in_order(nest, op) == (input == 0) ? DotSide::A : DotSide::B;
}

DType dot_type(const Nest &nest, const DotOp &op, int input) {
  return dot_side(nest, op, input) == DotSide::A ? op.a : op.b;
}

std::optional<IndexId> dot_index(const Nest &nest, const Schedule &schedule) {
  for (const IndexId i : reduced_indices(nest))
    if (schedule.splits[i].vec > 1)
      return i;
  return std::nullopt;
}

double peak_gops(const Nest &nest, const Target &target) {
  double most = target.gflops_per_unit;
  for (const DotRate &rate : target.dots)
    if (fits(nest, *rate.op))
      most = std::max(most, rate.gops_per_unit);
  return most;
}

std::int64_t products_of_lane(const Schedule &schedule) {
  return schedule.dot == nullptr ? 1 : schedule.dot->products;
}

std::int64_t points_of_rows(const Nest &nest, const Schedule &schedule, IndexId index) {
  const Split &split = schedule.splits[index];
  if (!has_dot_rows(schedule) || split.vec == 1)
    return 1;
  return is_output(nest, index) ? split.vec : split.step();
}

std::int64_t DotRows::registers() const {
  const std::int64_t partial = last == 0 ? 0 : last_sums + 1;
  return sums + filters + 1 + partial;
}

std::optional<DotRows> dot_rows(const Nest &nest, const Schedule &schedule) {
  const std::optional<IndexId> depth = dot_index(nest, schedule);
  std::optional<IndexId> index;
  for (const IndexId i : output_indices(nest))
    if (schedule.splits[i].vec > 1)
      index = i;
  if (!has_dot_rows(schedule) || !index || !depth)
    return std::nullopt;
  const int data = dot_side(nest, *schedule.dot, 0) == DotSide::A ? 0 : 1;
  const Split &split = schedule.splits[*index];
  DotRows rows{.index = *index,
               .depth = *depth,
               .data = data,
               .filter = 1 - data,
               .rows = std::min(split.vec, extent(nest, *index)),
               .groups = schedule.splits[*depth].keep};
  if (extent(nest, *index) > split.vec)
    rows.last = extent(nest, *index) % split.vec;
  for (const IndexId i : output_indices(nest)) {
    rows.sums *= schedule.splits[i].keep;
    rows.filters *= moves(nest.inputs[at(rows.filter)], i) ? schedule.splits[i].keep : 1;
  }
  rows.last_sums = rows.last == 0 ? 0 : rows.sums / split.keep;
  return rows;
}

std::int64_t row_sums_elems(const Nest &nest, const Schedule &schedule) {
  const std::optional<DotRows> rows = dot_rows(nest, schedule);
  return rows ? rows->sums * rows->rows * vector_width(schedule) : 0;
}

} // namespace tilefuse::schedule
