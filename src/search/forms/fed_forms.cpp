// SPDX-License-Identifier: Apache-2.0
#include "search/forms/fed_forms.h"

#include <algorithm>

#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "search/forms/core_forms.h"
#include "search/forms/roles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::Core;
constexpr int kLeastRing = 2;
constexpr int kLeastMappedRing = 3; // a buffer is copied, one mapped and one multiplied at a time
constexpr int kLeastWindows = 2;    // that serve many steps each
constexpr int kMostWindows = 4;

int least_stages(const Schedule &schedule) {
  return has_resident(schedule)        ? step_stages(schedule)
         : is_wgmma(*schedule.core.op) ? kLeastMappedRing
                                       : kLeastRing;
}

bool leaves_no_mappers(const Schedule &schedule, const Target &target) {
  const Core &core = schedule.core;
  return has(target, Quirk::LoneGroupSpills) && has_resident(schedule) &&
         core.warp_rows * core.warp_columns * schedule.roles.math.instances == 1;
}

// One buffer less, while there are enough.
bool shrink(const Nest &anchor, Schedule &schedule) {
  const int stages = step_stages(schedule);
  if (stages > least_stages(schedule)) {
    set_step_stages(schedule, stages - 1);
    return true;
  }
  if (halo_stages(schedule) <= kLeastWindows)
    return false;
  --data_pipe(anchor, schedule).stages;
  return true;
}

// With as many buffers as fit, if any do.
bool add(const poly::Group &group, Schedule schedule, const Target &target,
         std::vector<Schedule> &found) {
  schedule.producers.resize(group.producers.size());
  const auto fits = [&] {
    assign_roles(group.anchor, schedule, target);
    return local_bytes(schedule::local_buffers(group, schedule)) <= target.local_bytes &&
           !illegal(group, schedule, target);
  };
  bool is_deep = step_stages(schedule) >= least_stages(schedule);
  while (is_deep && !fits())
    is_deep = shrink(group.anchor, schedule);
  if (is_deep)
    found.push_back(std::move(schedule));
  return is_deep;
}

// By groups of their own; of those that take steps in turn only where these are not whole windows,
// with which two were no faster. The producer's warps are slower at it.
void add_mapped(const poly::Group &group, Schedule schedule, const Target &target,
                std::vector<Schedule> &found) {
  const auto with = [&](int mappers) {
    schedule.roles.transform.groups = mappers;
    return add(group, schedule, target, found);
  };
  if (has_resident(schedule))
    data_pipe(group.anchor, schedule).stages = kMostWindows;
  const bool is_added = !leaves_no_mappers(schedule, target) && with(1);
  if (halo_stages(schedule) == 0)
    with(2);
  if (has_resident(schedule) && !is_added)
    with(0);
}

} // namespace

std::vector<Schedule> fed_core_schedules(const poly::Group &group, const Target &target,
                                         bool tf32) {
  std::vector<Schedule> found;
  if (std::any_of(group.producers.begin(), group.producers.end(), [](const poly::Producer &p) {
        return p.feed == poly::Feed::Produce || p.consumer != poly::kAnchor || p.stored;
      }))
    return found;
  std::vector<Schedule> all = wgmma_schedules(group.anchor, target, tf32);
  if (schedule::spread_of(group)) {
    for (Schedule &schedule : all) {
      data_pipe(group.anchor, schedule).engine = schedule::Engine::CpAsync;
      if (halo_stages(schedule) > 0)
        add(group, std::move(schedule), target, found);
    }
    return found;
  }
  for (Schedule &schedule : streamed_wgmma_schedules(group.anchor, target, tf32))
    all.push_back(std::move(schedule));
  for (Schedule &schedule : all) {
    if (has(target, Quirk::BoxesBesideMaps) && schedule.store == schedule::Store::Tma &&
        core_steps(gemm_of(group.anchor, schedule)) > kShortTile)
      continue;
    if (schedule.extra.stages > 0) // not weighed beside maps
      continue;
    add_mapped(group, std::move(schedule), target, found);
  }
  for (Schedule &schedule : core_schedules(group.anchor, target, tf32))
    add(group, std::move(schedule), target, found);
  return found;
}

} // namespace tilefuse::search
