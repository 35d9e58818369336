// SPDX-License-Identifier: Apache-2.0
#include "support/launch_price.h"
#include "cost/gpu/wgmma_model.h"

#include "cost/group_model.h"
#include "schedule/mma/core.h"

namespace tilefuse::model {

double predicted_seconds(const launch::Launch &launch, const Target &target) {
  using launch::Place;
  std::vector<const nest::Nest *> classes, constants;
  std::vector<const schedule::Schedule *> schedules;
  double apart = 0; // of parts that run by themselves
  for (const launch::Part &part : launch.parts) {
    const bool is_first = &part == &launch.parts.front();
    const nest::Nest &anchor = part.placed.group.anchor;
    if (is_first || part.place == Place::InStep) {
      classes.push_back(&anchor);
      schedules.push_back(&part.schedule);
    } else if (part.place == Place::Between) {
      constants.push_back(&anchor);
    }
    if (part.place == Place::Blocks || part.place == Place::Dealt)
      apart += cost::predict(part.placed.group, part.schedule, target).seconds -
               (is_first ? 0 : target.launch_us * 1e-6);
  }
  const poly::Group &first = launch.parts.front().placed.group;
  if (!has_core(*schedules[0]) || !is_wgmma(*schedules[0]->core.op) || !first.producers.empty() ||
      classes.size() + constants.size() == 1)
    return apart;
  return apart - cost::predict(first, *schedules[0], target).seconds +
         cost::predict_together(classes, schedules, constants, target);
}

} // namespace tilefuse::model
