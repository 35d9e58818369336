// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "schedule/staging.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using Reason = std::optional<std::string>;

Reason wrong_shape(const Nest& nest, const Schedule& schedule) {
  if (schedule.splits.size() != nest.indices.size())
    return fmt::format("it splits {} indices, the nest has {}", schedule.splits.size(),
                       nest.indices.size());
  if (schedule.fills.size() != nest.inputs.size())
    return fmt::format("it places {} inputs, the nest has {}", schedule.fills.size(),
                       nest.inputs.size());
  std::set<int> seen;
  bool reduced = false;
  for (int i : schedule.order) {
    if (i < 0 || static_cast<std::size_t>(i) >= nest.indices.size() || !seen.insert(i).second)
      return "its loop order is not a permutation of the indices";
    if (i < nest.output_indices && reduced)
      return "an output index is looped inside a reduced one";
    reduced = reduced || i >= nest.output_indices;
  }
  if (seen.size() != nest.indices.size()) return "its loop order misses an index";
  return {};
}

Reason wrong_split(const Nest& nest, const Schedule& schedule, std::size_t i) {
  const Split& split = schedule.splits[i];
  const std::string& name = nest.indices[i].name;
  const std::int64_t extent = nest.indices[i].extent;
  if (split.tile < 1 || split.keep < 1 || split.lane < 1)
    return fmt::format("a factor of {} is below 1", name);
  if (static_cast<int>(i) >= nest.output_indices) {
    if (split.lane != 1) return fmt::format("reduced index {} cannot have lanes", name);
    if (split.tile != extent) return fmt::format("reduced index {} must be whole in a block", name);
    if (split.keep > extent) return fmt::format("{} is unrolled past its extent", name);
    return {};
  }
  if (split.tile % split.step() != 0)
    return fmt::format("tile {} of {} is not a multiple of keep * lane = {}", split.tile, name,
                       split.step());
  if (split.tile >= extent + split.step())
    return fmt::format("tile {} of {} is larger than its extent {} needs", split.tile, name,
                       extent);
  return {};
}

// A predicate per lane exists only where lanes are work-items or the guarded subscript does not move with them.
Reason wrong_guard(const Nest& nest, const Schedule& schedule) {
  const int lane = lane_index(schedule);
  const bool vector = schedule.lanes == LaneKind::Vector && lane >= 0;
  const auto moves = [&](const nest::Linear& at) {
    return vector && at.coeff[static_cast<std::size_t>(lane)] != 0;
  };
  for (const nest::Constraint& constraint : nest.constraints)
    if (moves(constraint.expr)) return "a constraint depends on the vector's lanes";
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (schedule.fills[k] == Fill::Local && has_neutral_fill(nest)) continue;
    for (const nest::Dim& dim : nest.inputs[k].dims)
      if (dim.guarded && moves(dim.at))
        return fmt::format("input {} is guarded along the vector's lanes and not staged", k);
  }
  return {};
}

Reason wrong_fill(const Nest& nest, const Schedule& schedule, const Target& target) {
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const nest::Operand& input = nest.inputs[k];
    if (schedule.fills[k] == Fill::Packed) {
      if (!input.constant) return fmt::format("input {} is packed but not constant", k);
      if (std::any_of(input.dims.begin(), input.dims.end(),
                      [](const nest::Dim& dim) { return dim.guarded; }))
        return fmt::format("input {} is packed but guarded", k);
    }
    if (schedule.fills[k] != Fill::Local) continue;
    if (!has_neutral_fill(nest) || !nest.constraints.empty())
      return fmt::format("input {} is staged but its padding has no neutral value", k);
    bytes += stage_tile(nest, schedule, static_cast<int>(k)).elems * size_bytes(held_type(nest));
  }
  if (bytes > target.local_bytes)
    return fmt::format("staging needs {} bytes per block, the target has {}", bytes,
                       target.local_bytes);
  return {};
}

}  // namespace

int lane_index(const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.splits.size(); ++i)
    if (schedule.splits[i].lane > 1) return static_cast<int>(i);
  return -1;
}

std::int64_t blocks(const Nest& nest, const Schedule& schedule) {
  std::int64_t count = 1;
  for (int i = 0; i < nest.output_indices; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    count *= (nest.indices[at].extent + schedule.splits[at].tile - 1) / schedule.splits[at].tile;
  }
  return count;
}

Reason illegal(const Nest& nest, const Schedule& schedule, const Target& target) {
  if (Reason reason = wrong_shape(nest, schedule)) return reason;
  int lanes = 0;
  for (std::size_t i = 0; i < nest.indices.size(); ++i) {
    if (Reason reason = wrong_split(nest, schedule, i)) return reason;
    lanes += schedule.splits[i].lane > 1 ? 1 : 0;
  }
  if (lanes > 1) return "two indices have lanes";
  if (schedule.lanes != target.lanes && lanes > 0)
    return fmt::format("its lanes are {}s, the target has {}s", to_string(schedule.lanes),
                       to_string(target.lanes));
  const int lane = lane_index(schedule);
  const std::int64_t width = lane < 0 ? 1 : schedule.splits[static_cast<std::size_t>(lane)].lane;
  if (target.lanes == LaneKind::Vector && (width > 16 || (width & (width - 1)) != 0))
    return fmt::format("a vector of {} elements", width);
  if (target.lanes == LaneKind::WorkItem && width > target.max_group)
    return fmt::format("{} work-items per group, the target allows {}", width, target.max_group);
  if (Reason reason = wrong_guard(nest, schedule)) return reason;
  return wrong_fill(nest, schedule, target);
}

Schedule scalar_schedule(const Nest& nest) {
  Schedule schedule;
  schedule.name = "scalar";
  for (std::size_t i = 0; i < nest.indices.size(); ++i) {
    const bool reduced = static_cast<int>(i) >= nest.output_indices;
    schedule.splits.push_back({.tile = reduced ? nest.indices[i].extent : 1});
    schedule.order.push_back(static_cast<int>(i));
  }
  schedule.fills.assign(nest.inputs.size(), Fill::Direct);
  return schedule;
}

}  // namespace tilefuse::schedule
