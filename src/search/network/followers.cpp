// SPDX-License-Identifier: Apache-2.0
#include "search/network/followers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "cost/group_model.h"
#include "launch/legal.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"
#include "poly/group_buffers.h"
#include "schedule/blocks.h"
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

// The part as made for a launch; nothing where that is not legal, or takes longer than a launch of
// its own.
std::optional<Part> if_better(Part made, const Part &part, const Target &target) {
  const bool is_better = !schedule::illegal(made.placed.group, made.schedule, target) &&
                         seconds(made, target) <= seconds(part, target) + target.launch_us * 1e-6;
  return is_better ? std::optional(std::move(made)) : std::nullopt;
}

// The map with the indices and the schedule of another.
std::optional<Part> alike(const Part &map, const Part &other, const Target &target) {
  std::optional<Nest> nest = split_like(map.placed.group.anchor, other.placed.group.anchor);
  if (!nest)
    return std::nullopt;
  Part made = map;
  made.placed.group.anchor = std::move(*nest);
  take(made, other.schedule);
  return if_better(std::move(made), map, target);
}

// A reduction with the other's schedule of results.
std::optional<Part> with_results_of(const Part &other, const Part &part, const Target &target) {
  const auto outputs = at(part.placed.group.anchor.output_indices);
  if (has_core(other.schedule) || has_core(part.schedule) || other.schedule.splits.size() < outputs)
    return std::nullopt;
  schedule::Schedule made = part.schedule;
  const schedule::Schedule &from = other.schedule;
  std::copy_n(from.splits.begin(), outputs, made.splits.begin());
  made.lane_parts = from.lane_parts;
  const auto is_result = [&](IndexId i) { return at(i) < outputs; };
  std::erase_if(made.order, is_result);
  std::vector<IndexId> order;
  std::copy_if(from.order.begin(), from.order.end(), std::back_inserter(order), is_result);
  made.order.insert(made.order.begin(), order.begin(), order.end());
  Part with = part;
  take(with, std::move(made));
  return if_better(std::move(with), part, target);
}

// Whether the part's blocks alone are as many as run at once.
bool fills(const Part &part, const Target &target) {
  const auto items = static_cast<double>(blocks(part.placed.group.anchor, part.schedule) *
                                         group_size(part.schedule));
  return items >= target.rates.unit_items * static_cast<double>(target.compute_units);
}

bool is_single_reduction(const Part &part) {
  return !launch::is_map(part) && is_alone(part.placed.group) && !part.placed.joins_tiles &&
         !has_core(part.schedule) && part.schedule.lanes == LaneKind::WorkItem;
}

// Whether neither reads or writes what the other writes.
bool are_independent(const Part &a, const Part &b) {
  const auto touches = [](const Part &writer, const Part &other) {
    const std::set<program::BufferId> read = poly::read_buffers(other.placed);
    return poly::writes(other.placed, poly::written_buffer(writer.placed)) ||
           std::any_of(read.begin(), read.end(), [&](program::BufferId buffer) {
             return poly::writes(writer.placed, buffer);
           });
  };
  return !touches(a, b) && !touches(b, a);
}

// Whether one reads what the other stores and all that it reads, but for what is known at load time.
bool reads_all_of(const Part &part, const Part &other) {
  const std::set<program::BufferId> mine = poly::read_buffers(part.placed);
  std::set<program::BufferId> all = poly::read_buffers(other.placed);
  all.insert(poly::written_buffer(other.placed));
  return std::includes(mine.begin(), mine.end(), all.begin(), all.end());
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

bool add_class(Launch &launch, const Part &part, const Target &target) {
  const Part &first = launch.parts.front();
  if (!is_single_reduction(first) || !is_single_reduction(part) || !fills(first, target))
    return false;
  std::optional<Part> made = with_results_of(first, part, target);
  return made && follow(launch, std::move(*made), target);
}

void add_reduction(Launch &launch, std::vector<Part> &kernels, std::size_t begin,
                   const Target &target) {
  const Part &first = launch.parts.front();
  if (launch.parts.size() > 1 || !is_single_reduction(first) || !fills(first, target))
    return;
  for (std::size_t k = begin + 1; k < kernels.size(); ++k) {
    const auto passes = [&](const Part &other) { return are_independent(kernels[k], other); };
    if (!is_single_reduction(kernels[k]) || !reads_all_of(kernels[k], first) ||
        !std::all_of(kernels.begin() + static_cast<std::ptrdiff_t>(begin + 1),
                     kernels.begin() + static_cast<std::ptrdiff_t>(k), passes))
      continue;
    std::optional<Part> made = with_results_of(first, kernels[k], target);
    if (!made || !follow(launch, std::move(*made), target))
      continue;
    kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(k));
    return;
  }
}

std::size_t add_followers(Launch &launch, std::span<const Part> kernels, std::size_t next,
                          const Target &target) {
  while (next < kernels.size() && add_follower(launch, kernels[next], target))
    ++next;
  return next;
}

} // namespace tilefuse::search
