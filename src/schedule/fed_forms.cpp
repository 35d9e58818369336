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
constexpr int kMappers[] = {1, 2};

int least_ring(const Core &core) {
  return core.keeps_filter ? core.ring : is_wgmma(*core.op) ? kLeastMappedRing : kLeastRing;
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
    for (const int mappers : kMappers) {
      schedule.core.mappers = mappers;
      add(group, schedule, target, found);
    }
  }
  for (Schedule &schedule : core_schedules(group.anchor, target, tf32))
    add(group, std::move(schedule), target, found);
  return found;
}

} // namespace tilefuse::schedule
