// SPDX-License-Identifier: Apache-2.0
#include "schedule/fed_forms.h"

#include <algorithm>

#include "schedule/core_feeds.h"
#include "schedule/core_forms.h"
#include "schedule/members.h"
#include "schedule/wgmma_forms.h"

namespace tilefuse::schedule {
namespace {

constexpr int kLeastRing = 2;
constexpr int kLeastMappedRing = 3; // a buffer is copied, one mapped and one multiplied at a time
constexpr int kLeastWindows = 2;    // that serve many steps each
constexpr int kMostWindows = 4;
constexpr int kMappers[] = {0, 1, 2};

int least_ring(const Core &core) {
  return core.keeps_filter ? core.ring : is_wgmma(*core.op) ? kLeastMappedRing : kLeastRing;
}

// Two groups that map a window in turn are no faster than one, and a group that multiplies alone
// spills beside others that map (NVRTC 13.0, sm_90a).
bool suits(const Core &core, int mappers) {
  const bool is_alone = core.warp_rows * core.warp_columns * core.turns == 1;
  if (core.window == 0 || !core.keeps_filter)
    return mappers == 1 || (mappers == 2 && core.window == 0);
  return mappers == (is_alone ? 0 : 1) || mappers == 0;
}

// One buffer less, while there are enough.
bool shrink(Core &core) {
  const bool is_ring = core.ring > least_ring(core);
  if (!is_ring && core.window <= kLeastWindows)
    return false;
  --(is_ring ? core.ring : core.window);
  return true;
}

// With as many buffers as fit.
void add(const poly::Group &group, Schedule schedule, const Target &target,
         std::vector<Schedule> &found) {
  schedule.producers.resize(group.producers.size());
  const auto fits = [&] {
    return fed_local_bytes(group, schedule) <= target.local_bytes &&
           !illegal(group, schedule, target);
  };
  Core &core = schedule.core;
  bool is_deep = core.ring >= least_ring(core);
  while (is_deep && !fits())
    is_deep = shrink(core);
  if (is_deep)
    found.push_back(std::move(schedule));
}

} // namespace

std::vector<Schedule> fed_core_schedules(const poly::Group &group, const Target &target,
                                         bool tf32) {
  std::vector<Schedule> found;
  if (std::any_of(group.producers.begin(), group.producers.end(), [](const poly::Producer &p) {
        return p.feed != poly::Feed::Map || p.consumer != 0 || p.stored;
      }))
    return found;
  std::vector<Schedule> all = wgmma_schedules(group.anchor, target, tf32);
  for (Schedule &schedule : streamed_wgmma_schedules(group.anchor, target, tf32))
    all.push_back(std::move(schedule));
  for (Schedule &schedule : all) {
    // Boxes of results and maps of many steps do not fit the registers (NVRTC 13.0, sm_90a).
    if (schedule.core.tensor_store && core_steps(group.anchor, schedule) > kShortTile)
      continue;
    if (schedule.core.ahead > 0) // not weighed beside maps
      continue;
    if (schedule.core.keeps_filter)
      schedule.core.window = kMostWindows;
    for (const int mappers : kMappers)
      if (suits(schedule.core, mappers)) {
        schedule.core.mappers = mappers;
        add(group, schedule, target, found);
      }
  }
  for (Schedule &schedule : core_schedules(group.anchor, target, tf32))
    add(group, std::move(schedule), target, found);
  return found;
}

} // namespace tilefuse::schedule
