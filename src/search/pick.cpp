// SPDX-License-Identifier: Apache-2.0
#include "search/pick.h"

#include <algorithm>
#include <utility>

#include "cost/model.h"
#include "search/forms/core_forms.h"
#include "search/forms/wgmma_forms.h"
#include "search/space.h"

namespace tilefuse::search {

using nest::Nest;
using schedule::Schedule;

std::vector<Candidate> candidates(const Nest &nest, const Target &target, std::size_t count) {
  return Searches(target).candidates(nest, count);
}

std::vector<Candidate> Searches::candidates(const Nest &nest, std::size_t count) {
  if (found_.size() < count || nest_ != nest) {
    nest_ = nest;
    Space space(nest, target_, counts_);
    found_ = count == 1 ? std::vector<Candidate>{space.best()} : space.all();
  }
  return {found_.begin(),
          found_.begin() + static_cast<std::ptrdiff_t>(std::min(count, found_.size()))};
}

Schedule pick(const Nest &nest, const Target &target) {
  return candidates(nest, target, 1).front().schedule;
}

std::optional<Schedule> pick_tf32(const Nest &nest, const Target &target) {
  std::optional<Schedule> best;
  double least = candidates(nest, target, 1).front().estimate.seconds;
  std::vector<Schedule> all = search::wgmma_schedules(nest, target, true);
  const std::vector<Schedule> others = search::core_schedules(nest, target, true);
  all.insert(all.end(), others.begin(), others.end());
  for (Schedule &schedule : all) {
    const double seconds = cost::predict(nest, schedule, target).seconds;
    if (seconds >= least)
      continue;
    least = seconds;
    best = std::move(schedule);
  }
  return best;
}

} // namespace tilefuse::search
