// SPDX-License-Identifier: Apache-2.0
#include "schedule/legal_dots.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
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
  return {};
}

} // namespace tilefuse::schedule
