// SPDX-License-Identifier: Apache-2.0
#include "model/plan/launch_schedules.h"

#include <algorithm>
#include <set>

#include "cost/model.h"
#include "lower/launch/between.h"
#include "search/item_groups.h"
#include "search/pick.h"

namespace tilefuse::model {
namespace {

constexpr std::size_t kTried = 256; // schedules

} // namespace

std::vector<search::Candidate> candidates_of(const poly::Group &group, const Target &target) {
  return group.producers.empty() ? search::candidates(group.anchor, target, kTried)
                                 : search::mapped_candidates(group, target, kTried);
}

bool is_map(const LaunchPart &part) { return part.placed->group.anchor.inputs.empty(); }

double LaunchSchedules::seconds(std::size_t k) const {
  return is_map(parts_[k])
             ? 0
             : cost::predict(parts_[k].placed->group, *parts_[k].schedule, target_).seconds;
}

void LaunchSchedules::leave_alone(const std::vector<std::size_t> &all) const {
  for (const std::size_t k : all) {
    leave_boxes(k, all);
    schedule::Core &core = parts_[k].schedule->core;
    core.cluster_rows = core.cluster_columns = core.cluster_parts = 1;
  }
}

// What stores constants between its results does not let these leave in boxes.
void LaunchSchedules::leave_boxes(std::size_t k, const std::vector<std::size_t> &all) const {
  schedule::Schedule &own = *parts_[k].schedule;
  const nest::Nest &anchor = parts_[k].placed->group.anchor;
  const bool has_between = std::any_of(all.begin(), all.end(), [&](std::size_t other) {
    return is_map(parts_[other]) &&
           lower::between(anchor, parts_[other].placed->group.anchor).has_value();
  });
  if (!has_core(own) || !own.core.tensor_store || !has_between)
    return;
  for (search::Candidate &candidate : candidates_of(parts_[k].placed->group, target_))
    if (has_core(candidate.schedule) && !candidate.schedule.core.tensor_store) {
      own = std::move(candidate.schedule);
      return;
    }
}

void LaunchSchedules::follow(std::size_t first, const std::vector<std::size_t> &all) const {
  const schedule::Core &core = parts_[first].schedule->core;
  for (const std::size_t k : all) {
    schedule::Schedule &own = *parts_[k].schedule;
    if (is_map(parts_[k]) || !has_core(own) || own.core == core || !is_wgmma(*own.core.op))
      continue;
    for (search::Candidate &candidate : candidates_of(parts_[k].placed->group, target_))
      if (candidate.schedule.core == core &&
          candidate.estimate.seconds <= seconds(k) + target_.launch_us * 1e-6) {
        own = std::move(candidate.schedule);
        break;
      }
  }
}

void LaunchSchedules::equalise(const std::vector<std::size_t> &all) const {
  std::vector<std::size_t> nests;
  std::set<std::int64_t> sizes;
  double best = 0;
  for (const std::size_t k : all)
    if (!is_map(parts_[k])) {
      nests.push_back(k);
      sizes.insert(group_size(*parts_[k].schedule));
      best += seconds(k);
    }
  if (sizes.size() < 2)
    return;
  best += target_.launch_us * 1e-6 * static_cast<double>(nests.size() - 1);
  std::vector<schedule::Schedule> chosen;
  for (const std::int64_t size : sizes)
    if (auto found = of_size(nests, size, best); !found.empty())
      chosen = std::move(found);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    *parts_[nests[i]].schedule = std::move(chosen[i]);
}

// Lowers `best` to what they take; empty where they take more.
std::vector<schedule::Schedule> LaunchSchedules::of_size(const std::vector<std::size_t> &nests,
                                                         std::int64_t size, double &best) const {
  std::vector<schedule::Schedule> all;
  double sum = 0;
  for (const std::size_t k : nests) {
    const poly::Group &group = parts_[k].placed->group;
    std::optional<schedule::Schedule> own = *parts_[k].schedule;
    if (group_size(*own) != size)
      own = pick_(group, size);
    if (!own)
      return {};
    sum += cost::predict(group, *own, target_).seconds;
    all.push_back(std::move(*own));
  }
  if (sum > best)
    return {};
  best = sum;
  return all;
}

} // namespace tilefuse::model
