// SPDX-License-Identifier: Apache-2.0
#include "schedule/fed_forms.h"

#include <algorithm>

#include "schedule/core_forms.h"
#include "schedule/members.h"
#include "schedule/wgmma_forms.h"

namespace tilefuse::schedule {
namespace {

constexpr int kLeastRing = 2;
constexpr int kLeastMappedRing = 3; // a buffer is copied, one mapped and one multiplied at a time
constexpr int kMappers[] = {1, 2};

// With the deepest ring that fits.
void add(const poly::Group &group, Schedule schedule, const Target &target,
         std::vector<Schedule> &found) {
  schedule.producers.resize(group.producers.size());
  const int least = is_wgmma(*schedule.core.op) ? kLeastMappedRing : kLeastRing;
  for (; schedule.core.ring >= least; --schedule.core.ring)
    if (!illegal(group, schedule, target)) {
      found.push_back(std::move(schedule));
      return;
    }
}

} // namespace

std::vector<Schedule> fed_core_schedules(const poly::Group &group, const Target &target,
                                         bool tf32) {
  std::vector<Schedule> found;
  if (std::any_of(group.producers.begin(), group.producers.end(), [](const poly::Producer &p) {
        return p.feed != poly::Feed::Map || p.consumer != 0 || p.stored;
      }))
    return found;
  for (Schedule &schedule : wgmma_schedules(group.anchor, target, tf32)) {
    // Boxes of results and maps of many steps do not fit the registers (NVRTC 13.0, sm_90a).
    if (schedule.core.tensor_store && core_steps(group.anchor, schedule) > kShortTile)
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
