// SPDX-License-Identifier: Apache-2.0
#include "schedule/legal.h"

#include <algorithm>

#include "schedule/legal_alone.h"
#include "schedule/members.h"
#include "schedule/rolling.h"
#include "schedule/stage_copy.h"

namespace tilefuse::schedule {

// Most schedules of a nest alone break no rule of groups, for which it would have to be copied.
std::optional<std::string> illegal(const nest::Nest &nest, const Schedule &schedule,
                                   const Target &target) {
  if (std::optional<std::string> reason = illegal_alone(nest, schedule, target))
    return reason;
  const bool is_fed = std::count(schedule.fills.begin(), schedule.fills.end(), Fill::Produced) > 0;
  if (!has_core(schedule) && !rolled_index(schedule) && schedule.producers.empty() && !is_fed)
    return wrong_copies(nest, schedule);
  return illegal_together(poly::Group{nest, {}}, schedule, target);
}

} // namespace tilefuse::schedule
