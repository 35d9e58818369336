// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

int index_with(const Schedule &schedule, std::int64_t Split::*factor) {
  for (std::size_t i = 0; i < schedule.splits.size(); ++i)
    if (schedule.splits[i].*factor > 1)
      return static_cast<int>(i);
  return -1;
}

} // namespace

int lane_index(const Schedule &schedule) { return index_with(schedule, &Split::lane); }

int vector_index(const Schedule &schedule) {
  return index_with(schedule, schedule.lanes == LaneKind::Vector ? &Split::lane : &Split::vec);
}

std::int64_t vector_width(const Schedule &schedule) {
  const int index = vector_index(schedule);
  if (index < 0)
    return 1;
  const Split &split = schedule.splits[at(index)];
  return schedule.lanes == LaneKind::Vector ? split.lane : split.vec;
}

std::int64_t group_size(const Schedule &schedule) {
  if (has_core(schedule)) {
    const std::int64_t groups =
        schedule.core.warp_rows * schedule.core.warp_columns * schedule.core.turns;
    const int others = is_wgmma(*schedule.core.op) ? 1 + schedule.core.mappers : 0;
    return schedule.core.op->lanes() * (groups + others);
  }
  std::int64_t size = 1;
  if (schedule.lanes == LaneKind::WorkItem)
    for (const Split &split : schedule.splits)
      size *= split.lane;
  return size;
}

std::vector<LanePart> lane_digits(const Schedule &schedule) {
  const int index = lane_index(schedule);
  if (index < 0 || !schedule.lane_parts.empty())
    return schedule.lane_parts;
  return {{index, schedule.splits[at(index)].lane}};
}

bool is_copied_by_items(const Schedule &schedule, int input) {
  const Fill fill = schedule.fills[at(input)];
  return schedule.lanes == LaneKind::WorkItem && !has_core(schedule) && is_staged(fill) &&
         fill != Fill::Produced;
}

std::vector<int> chunked_indices(const Nest &nest, const Schedule &schedule) {
  std::vector<int> indices;
  for (int i : schedule.order)
    if (i >= nest.output_indices && schedule.splits[at(i)].tile < nest.indices[at(i)].extent)
      indices.push_back(i);
  return indices;
}

std::int64_t points_of_step(const Nest &nest, const Schedule &schedule, int index) {
  const Split &split = schedule.splits[at(index)];
  if (schedule.lanes == LaneKind::Vector || split.near)
    return split.step();
  const std::int64_t unit = split.copy_stride();
  return std::min(split.step(), (nest.indices[at(index)].extent + unit - 1) / unit * unit);
}

Schedule scalar_schedule(const Nest &nest) {
  Schedule schedule;
  schedule.name = "scalar";
  schedule.splits.reserve(nest.indices.size());
  schedule.order.reserve(nest.indices.size());
  for (std::size_t i = 0; i < nest.indices.size(); ++i) {
    const bool reduced = static_cast<int>(i) >= nest.output_indices;
    schedule.splits.push_back({.tile = reduced ? nest.indices[i].extent : 1});
    schedule.order.push_back(static_cast<int>(i));
  }
  schedule.fills.assign(nest.inputs.size(), Fill::Direct);
  schedule.stages.assign(nest.inputs.size(), {});
  return schedule;
}

const Schedule &member_schedule(const Schedule &schedule, poly::MemberId member) {
  return member == poly::kAnchor ? schedule : schedule.producers.at(at(member) - 1);
}

Schedule &member_schedule(Schedule &schedule, poly::MemberId member) {
  return member == poly::kAnchor ? schedule : schedule.producers.at(at(member) - 1);
}

} // namespace tilefuse::schedule
