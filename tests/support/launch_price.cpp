// SPDX-License-Identifier: Apache-2.0
#include "support/launch_price.h"

#include "cost/model.h"
#include "cost/together.h"
#include "schedule/mma/core.h"

namespace tilefuse::model {

double predicted_seconds(const Launch &launch, const std::vector<LaunchPart> &parts,
                         const Target &target) {
  std::vector<const nest::Nest *> classes, constants;
  std::vector<const schedule::Schedule *> schedules;
  double apart = 0; // of parts that run by themselves
  for (std::size_t p = 0; p < launch.kernels.size(); ++p) {
    const poly::PlacedGroup *placed = parts[launch.kernels[p]].placed;
    const schedule::Schedule *schedule = parts[launch.kernels[p]].schedule;
    const nest::Nest &anchor = placed->group.anchor;
    const bool runs = launch.places[p] == Place::Blocks || launch.places[p] == Place::Dealt;
    if (p == 0 || launch.places[p] == Place::InStep) {
      classes.push_back(&anchor);
      schedules.push_back(schedule);
    } else if (launch.places[p] == Place::Between) {
      constants.push_back(&anchor);
    }
    if (runs)
      apart += cost::predict(placed->group, *schedule, target).seconds -
               (p == 0 ? 0 : target.launch_us * 1e-6);
  }
  const poly::Group &first = parts[launch.kernels[0]].placed->group;
  if (!has_core(*schedules[0]) || !is_wgmma(*schedules[0]->core.op) || !first.producers.empty() ||
      classes.size() + constants.size() == 1)
    return apart;
  return apart - cost::predict(first, *schedules[0], target).seconds +
         cost::predict_together(classes, schedules, constants, target);
}

} // namespace tilefuse::model
