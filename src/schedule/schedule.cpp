// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

std::optional<IndexId> index_with(const Schedule &schedule, std::int64_t Split::*factor) {
  for (const IndexId i : schedule.splits.ids())
    if (schedule.splits[i].*factor > 1)
      return i;
  return std::nullopt;
}

} // namespace

std::optional<IndexId> lane_index(const Schedule &schedule) {
  return index_with(schedule, &Split::lane);
}

std::optional<IndexId> vector_index(const Schedule &schedule) {
  if (schedule.lanes == LaneKind::WorkItem && schedule.dot != nullptr)
    return std::nullopt; // what has `vec` then is a group of neighbours
  return index_with(schedule, schedule.lanes == LaneKind::Vector ? &Split::lane : &Split::vec);
}

std::int64_t vector_width(const Schedule &schedule) {
  const std::optional<IndexId> index = vector_index(schedule);
  if (!index)
    return 1;
  const Split &split = schedule.splits[*index];
  return schedule.lanes == LaneKind::Vector ? split.lane : split.vec;
}

std::int64_t group_size(const Schedule &schedule) {
  if (has_core(schedule)) {
    const std::int64_t groups =
        schedule.core.warp_rows * schedule.core.warp_columns * schedule.roles.math.instances;
    const int others = is_wgmma(*schedule.core.op) ? 1 + schedule.roles.transform.groups : 0;
    return schedule.core.op->lanes() * (groups + others);
  }
  std::int64_t size = 1;
  if (schedule.lanes == LaneKind::WorkItem)
    for (const Split &split : schedule.splits)
      size *= split.lane;
  return size;
}

std::vector<LanePart> lane_digits(const Schedule &schedule) {
  const std::optional<IndexId> index = lane_index(schedule);
  if (!index || !schedule.lane_parts.empty())
    return schedule.lane_parts;
  return {{*index, schedule.splits[*index].lane}};
}

bool multiply_alike(const Schedule &a, const Schedule &b) {
  return a.core == b.core && a.pipes == b.pipes && a.extra == b.extra && a.store == b.store &&
         a.roles == b.roles && a.tiles == b.tiles;
}

int halo_stages(const Schedule &schedule) {
  const auto halo =
      std::find_if(schedule.pipes.begin(), schedule.pipes.end(),
                   [](const Pipe &pipe) { return pipe.footprint == Footprint::Halo; });
  return halo == schedule.pipes.end() ? 0 : halo->stages;
}

int step_stages(const Schedule &schedule) {
  const auto step =
      std::find_if(schedule.pipes.begin(), schedule.pipes.end(),
                   [](const Pipe &pipe) { return pipe.footprint != Footprint::Halo; });
  return step == schedule.pipes.end() ? 0 : step->stages;
}

void set_step_stages(Schedule &schedule, int stages) {
  for (Pipe &pipe : schedule.pipes)
    if (pipe.footprint != Footprint::Halo)
      pipe.stages = stages;
}

bool has_resident(const Schedule &schedule) {
  return std::any_of(schedule.pipes.begin(), schedule.pipes.end(),
                     [](const Pipe &pipe) { return pipe.footprint == Footprint::Resident; });
}

bool multiplies_in_turn(const Schedule &schedule) {
  return schedule.roles.math.instances > 1 && !has_resident(schedule);
}

bool has_loading_warps(const Schedule &schedule) {
  return has_core(schedule) && is_wgmma(*schedule.core.op) &&
         std::any_of(schedule.pipes.begin(), schedule.pipes.end(),
                     [](const Pipe &pipe) { return pipe.engine == Engine::CpAsync; });
}

bool is_copied_by_items(const Schedule &schedule, int input) {
  const Fill fill = schedule.fills[at(input)];
  return schedule.lanes == LaneKind::WorkItem && !has_core(schedule) && is_staged(fill) &&
         fill != Fill::Produced;
}

std::vector<IndexId> chunked_indices(const Nest &nest, const Schedule &schedule) {
  std::vector<IndexId> indices;
  for (const IndexId i : schedule.order)
    if (!is_output(nest, i) && schedule.splits[i].tile < extent(nest, i))
      indices.push_back(i);
  return indices;
}

std::int64_t points_of_step(const Nest &nest, const Schedule &schedule, IndexId index) {
  const Split &split = schedule.splits[index];
  if (schedule.lanes == LaneKind::Vector || split.near)
    return split.step();
  const std::int64_t unit = split.copy_stride();
  return std::min(split.step(), (extent(nest, index) + unit - 1) / unit * unit);
}

Schedule scalar_schedule(const Nest &nest) {
  Schedule schedule;
  schedule.name = "scalar";
  schedule.splits.reserve(nest.indices.size());
  schedule.order.reserve(nest.indices.size());
  for (const IndexId i : nest.indices.ids()) {
    schedule.splits.push_back({.tile = is_output(nest, i) ? 1 : extent(nest, i)});
    schedule.order.push_back(i);
  }
  schedule.fills.assign(nest.inputs.size(), Fill::Direct);
  schedule.pipes.assign(nest.inputs.size(), {});
  return schedule;
}

const Schedule &member_schedule(const Schedule &schedule, poly::MemberId member) {
  return member == poly::kAnchor ? schedule : schedule.producers.at(at(member) - 1);
}

Schedule &member_schedule(Schedule &schedule, poly::MemberId member) {
  return member == poly::kAnchor ? schedule : schedule.producers.at(at(member) - 1);
}

} // namespace tilefuse::schedule
