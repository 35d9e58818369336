// SPDX-License-Identifier: Apache-2.0
#include "search/network/launch_schedules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cost/group_model.h"
#include "launch/between.h"
#include "schedule/members.h"
#include "search/forms/roles.h"
#include "search/item_groups.h"
#include "search/pick.h"

namespace tilefuse::search {
namespace {

constexpr std::size_t kTried = 256; // schedules

// The best that search knows of, best first, to choose one of a form from.
std::vector<Candidate> candidates_of(const poly::Group &group, const Target &target) {
  return is_alone(group) ? candidates(group.anchor, target, kTried)
                         : mapped_candidates(group, target, kTried);
}

} // namespace

PickOfSize pick_of_size(const Target &target) {
  return
      [&target](const poly::Group &group, std::int64_t size) -> std::optional<schedule::Schedule> {
        for (Candidate &candidate : candidates_of(group, target))
          if (group_size(candidate.schedule) == size)
            return std::move(candidate.schedule);
        return std::nullopt;
      };
}

void take(launch::Part &part, schedule::Schedule schedule) {
  if (part.schedule == schedule)
    return;
  part.schedule = std::move(schedule);
  part.chosen_by = kForLaunch;
}

double LaunchSchedules::seconds(std::size_t k) const {
  return launch::is_map(parts_[k])
             ? 0
             : cost::predict(parts_[k].placed.group, parts_[k].schedule, target_).seconds;
}

void LaunchSchedules::leave_alone(const std::vector<std::size_t> &all) const {
  for (const std::size_t k : all) {
    leave_boxes(k, all);
    leave_clusters(k);
  }
}

// The same schedule without clusters where that is legal, else the best that has none.
void LaunchSchedules::leave_clusters(std::size_t k) const {
  const poly::Group &group = parts_[k].placed.group;
  schedule::Schedule single = parts_[k].schedule;
  if (single.tiles.cluster() == 1)
    return;
  single.tiles.cluster_m = single.tiles.cluster_n = single.tiles.split_k = 1;
  assign_roles(group.anchor, single, target_);
  if (!schedule::illegal(group, single, target_))
    return take(parts_[k], std::move(single));
  for (Candidate &candidate : candidates_of(group, target_))
    if (candidate.schedule.tiles.cluster() == 1)
      return take(parts_[k], std::move(candidate.schedule));
}

// What stores constants between its results does not let these leave in boxes.
void LaunchSchedules::leave_boxes(std::size_t k, const std::vector<std::size_t> &all) const {
  const schedule::Schedule &own = parts_[k].schedule;
  const nest::Nest &anchor = parts_[k].placed.group.anchor;
  const bool has_between = std::any_of(all.begin(), all.end(), [&](std::size_t other) {
    return launch::is_map(parts_[other]) &&
           launch::between(anchor, parts_[other].placed.group.anchor).has_value();
  });
  if (!has_core(own) || own.store != schedule::Store::Tma || !has_between)
    return;
  for (Candidate &candidate : candidates_of(parts_[k].placed.group, target_))
    if (has_core(candidate.schedule) && candidate.schedule.store != schedule::Store::Tma)
      return take(parts_[k], std::move(candidate.schedule));
}

void LaunchSchedules::follow(std::size_t first, const std::vector<std::size_t> &all) const {
  const schedule::Schedule &leader = parts_[first].schedule;
  for (const std::size_t k : all) {
    const schedule::Schedule &own = parts_[k].schedule;
    if (launch::is_map(parts_[k]) || !has_core(own) || multiply_alike(own, leader) ||
        !is_wgmma(*own.core.op))
      continue;
    for (Candidate &candidate : candidates_of(parts_[k].placed.group, target_))
      if (multiply_alike(candidate.schedule, leader) &&
          candidate.estimate.seconds <= seconds(k) + target_.launch_us * 1e-6) {
        take(parts_[k], std::move(candidate.schedule));
        break;
      }
  }
}

void LaunchSchedules::equalise(const std::vector<std::size_t> &all) const {
  std::vector<std::size_t> nests;
  std::set<std::int64_t> sizes;
  double best = 0;
  for (const std::size_t k : all)
    if (!launch::is_map(parts_[k])) {
      nests.push_back(k);
      sizes.insert(group_size(parts_[k].schedule));
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
    take(parts_[nests[i]], std::move(chosen[i]));
}

// Lowers `best` to what they take; empty where they take more.
std::vector<schedule::Schedule> LaunchSchedules::of_size(const std::vector<std::size_t> &nests,
                                                         std::int64_t size, double &best) const {
  std::vector<schedule::Schedule> all;
  double sum = 0;
  for (const std::size_t k : nests) {
    const poly::Group &group = parts_[k].placed.group;
    std::optional<schedule::Schedule> own = parts_[k].schedule;
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

} // namespace tilefuse::search
