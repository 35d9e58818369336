// SPDX-License-Identifier: Apache-2.0
#include "schedule/legal_dots.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/guards.h"
#include "schedule/staging.h"
#include "schedule/streams.h"
#include "target/dot_lanes.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

constexpr std::int64_t kFewestLanes = 4; // of a vector register

// Elements from one point of each index to the next where the arithmetic reads an input: within a
// step of outputs, and within a group of the dot product's index.
Indexed<IndexId, std::int64_t> strides(const Nest &nest, const Schedule &schedule, int input) {
  const Source source = source_of(nest, schedule, input);
  std::vector<std::int64_t> by_dim;
  for (const nest::Dim &dim : source.dims)
    by_dim.push_back(dim.stride);
  if (is_staged(schedule.fills[at(input)]))
    for (const StageDim &dim : stage_tile(nest, schedule, input, source).dims)
      by_dim[at(dim.dim)] = dim.stride;
  Indexed<IndexId, std::int64_t> sum(nest.indices.size(), 0);
  for (std::size_t d = 0; d < source.dims.size(); ++d)
    for (const IndexId i : sum.ids())
      sum[i] += source.dims[d].at.coeff[i] * by_dim[d];
  return sum;
}

Reason wrong_group(const Nest &nest, const Schedule &schedule) {
  const std::int64_t products = schedule.dot->products;
  const std::optional<IndexId> index = dot_index(nest, schedule);
  const auto groups = [&] {
    std::int64_t count = 0;
    for (const IndexId i : reduced_indices(nest))
      count += schedule.splits[i].vec > 1 ? 1 : 0;
    return count;
  };
  if (!index || groups() != 1 || schedule.splits[*index].vec != products)
    return fmt::format("{} adds neighbours of one reduced index, whose vec is {}",
                       schedule.dot->name, products);
  const Split &split = schedule.splits[*index];
  if (split.tile % products != 0)
    return fmt::format("a chunk of {} of {} is not whole groups of {}", split.tile,
                       nest.indices[*index].name, products);
  return {};
}

Reason wrong_operand(const Nest &nest, const Schedule &schedule, int input) {
  const IndexId index = dot_index(nest, schedule).value();
  const std::string &name = nest.indices[index].name;
  const nest::Operand &operand = nest.inputs[at(input)];
  const Fill fill = schedule.fills[at(input)];
  if (fill == Fill::PackedLocal)
    return fmt::format("input {} is packed and staged, and read by a dot product", input);
  for (const nest::Dim &dim : operand.dims)
    if (fill == Fill::Direct && dim.guarded && dim.at.coeff[index] != 0)
      return fmt::format("input {} is guarded along {}, of which a dot product reads groups", input,
                         name);
  const Indexed<IndexId, std::int64_t> apart = strides(nest, schedule, input);
  if (apart[index] != 1)
    return fmt::format("neighbours of {} are {} elements apart in input {}", name, apart[index],
                       input);
  if (schedule.lanes == LaneKind::WorkItem)
    return {};
  const std::int64_t of_lanes = apart[*lane_index(schedule)];
  if (of_lanes != 0 && of_lanes != schedule.dot->products)
    return fmt::format("groups of neighbouring lanes are {} elements apart in input {}; need {}",
                       of_lanes, input, schedule.dot->products);
  return {};
}

Reason wrong_rows_of(const Nest &nest, const Schedule &schedule, IndexId i) {
  const DotOp &op = *schedule.dot;
  const Split &split = schedule.splits[i];
  const std::string &name = nest.indices[i].name;
  const std::int64_t extent = nest::extent(nest, i);
  if (split.vec > op.rows)
    return fmt::format("{} has {} rows of {}; got {}", op.name, op.rows, name, split.vec);
  const std::int64_t rest = extent % split.step();
  if (rest > split.vec && rest % split.vec != 0)
    return fmt::format("the last step of {} has whole registers of {} rows and one of {}", name,
                       split.vec, rest % split.vec);
  return {};
}

// What a matrix unit reads lies in memory, all of it.
Reason wrong_row_operand(const Nest &nest, const Schedule &schedule, std::size_t k) {
  if (schedule.pipes[k].prefetch)
    return fmt::format("input {} is prefetched by lines, and read in rows", k);
  for (const nest::Dim &dim : nest.inputs[k].dims) {
    const Guard guard = guard_of(nest, schedule, k, dim);
    if (schedule.fills[k] == Fill::Direct && guard != Guard::Never && guard != Guard::Clipped)
      return fmt::format("input {} is read in rows that may leave it", k);
  }
  return {};
}

Reason wrong_rows(const Nest &nest, const Schedule &schedule) {
  if (!has_dot_rows(schedule))
    return {};
  const DotOp &op = *schedule.dot;
  const std::optional<DotRows> rows = dot_rows(nest, schedule);
  int indices = 0;
  for (const IndexId i : output_indices(nest))
    indices += schedule.splits[i].vec > 1 ? 1 : 0;
  if (!rows || indices != 1 || schedule.lanes == LaneKind::WorkItem)
    return fmt::format("{} needs one output index whose points are rows, beside vector lanes",
                       op.name);
  const IndexId lane = *lane_index(schedule);
  if (dot_side(nest, op, rows->filter) != DotSide::B || moves(nest.inputs[at(rows->data)], lane) ||
      !moves(nest.inputs[at(rows->data)], rows->index) ||
      moves(nest.inputs[at(rows->filter)], rows->index))
    return fmt::format("{} multiplies rows of one input by lanes of the other", op.name);
  if (schedule.fills[at(rows->filter)] != Fill::Packed)
    return fmt::format("input {} is multiplied in rows and not packed", rows->filter);
  const Split &depth = schedule.splits[rows->depth];
  if (depth.keep > op.groups || depth.tile % depth.step() != 0 || depth.clip)
    return fmt::format("{} adds up to {} groups of {} at once, which divide its chunk", op.name,
                       op.groups, nest.indices[rows->depth].name);
  if (Reason reason = wrong_rows_of(nest, schedule, rows->index))
    return reason;
  if (rows->registers() > op.registers)
    return fmt::format("{} registers of rows are needed, the matrix unit has {}", rows->registers(),
                       op.registers);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (Reason reason = wrong_row_operand(nest, schedule, k))
      return reason;
  return {};
}

// A vector of sums, or work-items of one sum each.
Reason wrong_sums(const Schedule &schedule, const Target &target) {
  if (schedule.lanes == LaneKind::WorkItem)
    return {};
  const std::int64_t lanes = vector_width(schedule);
  if (const int most = most_lanes(target, *schedule.dot); lanes < kFewestLanes || lanes > most)
    return fmt::format("a dot product of {} lanes; the target has {} to {}", lanes, kFewestLanes,
                       most);
  return {};
}

} // namespace

Reason wrong_dot(const Nest &nest, const Schedule &schedule, const Target &target) {
  if (schedule.dot == nullptr)
    return {};
  const DotOp &op = *schedule.dot;
  if (find_dot(target, op) == nullptr)
    return fmt::format("the target has no {}", op.name);
  if (!fits(nest, op))
    return fmt::format("{} adds products of {} and {}, the nest does not", op.name, to_string(op.a),
                       to_string(op.b));
  if (Reason reason = wrong_sums(schedule, target))
    return reason;
  if (stream_registers(schedule) > 0)
    return "an input streams through registers to a dot product";
  if (Reason reason = wrong_group(nest, schedule))
    return reason;
  for (int k = 0; k < static_cast<int>(nest.inputs.size()); ++k)
    if (Reason reason = wrong_operand(nest, schedule, k))
      return reason;
  return wrong_rows(nest, schedule);
}

} // namespace tilefuse::schedule
