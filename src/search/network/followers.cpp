// SPDX-License-Identifier: Apache-2.0
#include "search/network/followers.h"

#include <optional>
#include <utility>

#include "cost/group_model.h"
#include "launch/legal.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"
#include "schedule/members.h"
#include "search/network/launch_schedules.h"

namespace tilefuse::search {
namespace {

using launch::Launch;
using launch::Part;
using nest::IndexId;
using nest::Nest;

// A map whose indices are those of another, split where the other has several for one of them.
std::optional<Nest> split_like(Nest map, const Nest &like) {
  for (const IndexId i : like.indices.ids()) {
    if (i >= map.indices.next_id())
      return std::nullopt;
    const std::int64_t whole = extent(map, i), part = extent(like, i);
    if (whole == part)
      continue;
    if (whole % part != 0)
      return std::nullopt;
    map = split_index(map, i, whole / part);
  }
  return map.indices.size() == like.indices.size() ? std::optional(std::move(map)) : std::nullopt;
}

bool is_single_map(const Part &part) {
  return launch::is_map(part) && is_alone(part.placed.group) && !has_core(part.schedule);
}

double seconds(const Part &part, const Target &target) {
  return cost::predict(part.placed.group, part.schedule, target).seconds;
}

// The map with the indices and the schedule of another; nothing where that is not legal, or takes
// longer than a launch of its own.
std::optional<Part> alike(const Part &map, const Part &other, const Target &target) {
  std::optional<Nest> nest = split_like(map.placed.group.anchor, other.placed.group.anchor);
  if (!nest)
    return std::nullopt;
  Part made = map;
  made.placed.group.anchor = std::move(*nest);
  take(made, other.schedule);
  const bool is_better = !schedule::illegal(made.placed.group, made.schedule, target) &&
                         seconds(made, target) <= seconds(map, target) + target.launch_us * 1e-6;
  return is_better ? std::optional(std::move(made)) : std::nullopt;
}

bool follow(Launch &launch, Part follower, const Target &target) {
  follower.place = launch::Place::Following;
  if (launch::wrong_beside(launch, follower, target))
    return false;
  launch.parts.push_back(std::move(follower));
  return true;
}

// By the schedule of the launch, or where it is of one map yet by the kernel's.
bool add_follower(Launch &launch, const Part &kernel, const Target &target) {
  const Part &first = launch.parts.front();
  if (!is_single_map(first) || !is_single_map(kernel))
    return false;
  if (std::optional<Part> part = alike(kernel, first, target))
    return follow(launch, std::move(*part), target);
  if (launch.parts.size() > 1)
    return false;
  std::optional<Part> part = alike(first, kernel, target);
  Launch other;
  if (part)
    other.parts.push_back(std::move(*part));
  if (!part || !follow(other, kernel, target))
    return false;
  launch = std::move(other);
  return true;
}

} // namespace

std::size_t add_followers(Launch &launch, std::span<const Part> kernels, std::size_t next,
                          const Target &target) {
  while (next < kernels.size() && add_follower(launch, kernels[next], target))
    ++next;
  return next;
}

} // namespace tilefuse::search
