// SPDX-License-Identifier: Apache-2.0
#include "search/tile_sums.h"

#include "base/index.h"
#include "cost/group_model.h"
#include "schedule/members.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/tile_sums.h"
#include "search/pick.h"

namespace tilefuse::search {

using schedule::Schedule;

namespace {

constexpr std::size_t kTried = 256; // schedules
constexpr int kLeastStages = 2;

} // namespace

std::vector<Schedule> tile_sum_schedules(const nest::Nest &nest, const Target &target) {
  std::vector<Schedule> found;
  for (Candidate &candidate : candidates(nest, target, kTried))
    if (has_core(candidate.schedule) && can_sum_tiles(gemm_of(nest, candidate.schedule)))
      found.push_back(std::move(candidate.schedule));
  return found;
}

std::optional<Schedule> fit_tile_sums(const poly::Group &group, const Schedule &schedule,
                                      const Target &target) {
  if (!sums_are_of_tiles(group, schedule))
    return std::nullopt;
  Schedule tried = schedule;
  while (illegal(group, tried, target)) {
    if (halo_stages(tried) > kLeastStages)
      --data_pipe(group.anchor, tried).stages;
    else if (halo_stages(tried) == 0 && step_stages(tried) > kLeastStages)
      set_step_stages(tried, step_stages(tried) - 1);
    else
      return std::nullopt;
  }
  return tried;
}

std::optional<Schedule> pick_with_sums(const poly::Group &group, const Target &target) {
  std::optional<Schedule> best;
  double least = 0;
  for (const Schedule &schedule : tile_sum_schedules(group.anchor, target)) {
    std::optional<Schedule> fitted = fit_tile_sums(group, schedule, target);
    const double seconds = fitted ? cost::predict(group, *fitted, target).seconds : 0;
    if (!fitted || (best && seconds >= least))
      continue;
    least = seconds;
    best = std::move(fitted);
  }
  return best;
}

} // namespace tilefuse::search
