// SPDX-License-Identifier: Apache-2.0
#include "search/forms/fed_forms.h"

#include <algorithm>

#include "schedule/legal.h"
#include "schedule/members.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/wgmma/wgmma_spread.h"
#include "search/forms/core_forms.h"
#include "search/forms/roles.h"
#include "search/forms/wgmma_forms.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::Core;
using schedule::Schedule;
constexpr int kLeastRing = 2;
constexpr int kLeastMappedRing = 3; // a buffer is copied, one mapped and one multiplied at a time
constexpr int kLeastWindows = 2;    // that serve many steps each
constexpr int kMostWindows = 4;

int least_ring(const Core &core) {
  return core.keeps_filter ? core.ring : is_wgmma(*core.op) ? kLeastMappedRing : kLeastRing;
}

bool leaves_no_mappers(const Core &core, const Target &target) {
  return has(target, Quirk::LoneGroupSpills) && core.keeps_filter &&
         core.warp_rows * core.warp_columns * core.turns == 1;
}

// One buffer less, while there are enough.
bool shrink(Core &core) {
  const bool is_ring = core.ring > least_ring(core);
  if (!is_ring && core.window <= kLeastWindows)
    return false;
  --(is_ring ? core.ring : core.window);
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
  Core &core = schedule.core;
  bool is_deep = core.ring >= least_ring(core);
  while (is_deep && !fits())
    is_deep = shrink(core);
  if (is_deep)
    found.push_back(std::move(schedule));
  return is_deep;
}

// By groups of their own; of those that take steps in turn only where these are not whole windows,
// with which two were no faster. The producer's warps are slower at it.
void add_mapped(const poly::Group &group, Schedule schedule, const Target &target,
                std::vector<Schedule> &found) {
  const auto with = [&](int mappers) {
    schedule.core.mappers = mappers;
    return add(group, schedule, target, found);
  };
  if (schedule.core.keeps_filter)
    schedule.core.window = kMostWindows;
  const bool is_added = !leaves_no_mappers(schedule.core, target) && with(1);
  if (schedule.core.window == 0)
    with(2);
  if (schedule.core.keeps_filter && !is_added)
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
      schedule.core.gathers = true;
      if (schedule.core.window > 0)
        add(group, std::move(schedule), target, found);
    }
    return found;
  }
  for (Schedule &schedule : streamed_wgmma_schedules(group.anchor, target, tf32))
    all.push_back(std::move(schedule));
  for (Schedule &schedule : all) {
    if (has(target, Quirk::BoxesBesideMaps) && schedule.core.tensor_store &&
        core_steps(gemm_of(group.anchor, schedule)) > kShortTile)
      continue;
    if (schedule.core.ahead > 0) // not weighed beside maps
      continue;
    add_mapped(group, std::move(schedule), target, found);
  }
  for (Schedule &schedule : core_schedules(group.anchor, target, tf32))
    add(group, std::move(schedule), target, found);
  return found;
}

} // namespace tilefuse::search
