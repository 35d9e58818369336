// SPDX-License-Identifier: Apache-2.0
#include "search/network/launches.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cost/dealt_map.h"
#include "cost/group_model.h"
#include "launch/classes.h"
#include "launch/legal.h"
#include "launch/step.h"
#include "poly/group_buffers.h"
#include "search/joinable.h"
#include "search/network/followers.h"
#include "search/network/small_launches.h"

namespace tilefuse::search {
namespace {

using launch::Launch;
using launch::Part;
using launch::Place;

// Puts classes of one statement together: those of a list, by position.
class Joining {
public:
  Joining(std::vector<Part> &parts, const Target &target, const PickOfSize &pick)
      : parts_(parts), target_(target), schedules_(parts, target, pick) {}

  // The slowest with all that fit beside it, and the rest.
  std::vector<Launch> run(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> order;
    for (std::size_t k = begin; k < end; ++k)
      order.push_back(k);
    schedules_.leave_alone(order);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return schedules_.seconds(a) > schedules_.seconds(b);
    });
    schedules_.equalise(order);
    const auto first =
        std::find_if(order.begin(), order.end(), [&](std::size_t k) { return !is_map(parts_[k]); });
    std::vector<Launch> launches;
    if (first != order.end()) {
      schedules_.follow(*first, order);
      std::rotate(order.begin(), first, first + 1);
      launches.push_back({{std::move(parts_[order[0]])}});
      order.erase(order.begin());
    }
    const bool has_first = !launches.empty();
    for (const std::size_t k : order)
      if (!(has_first && is_served(launches[0], parts_[k]) && add(launches[0], parts_[k])))
        launches.push_back({{std::move(parts_[k])}});
    if (has_first)
      even_steps(launches[0]);
    return launches;
  }

private:
  // Groups that take turns have as many parts each: of an odd number the last has its own blocks.
  void even_steps(Launch &launch) const {
    const auto is_in_step = [](const Part &part) { return part.place == Place::InStep; };
    const auto others = std::count_if(launch.parts.begin(), launch.parts.end(), is_in_step);
    if (others > 0 && others % 2 == 0 && launch.parts[0].schedule.roles.math.instances > 1)
      std::find_if(launch.parts.rbegin(), launch.parts.rend(), is_in_step)->place = Place::Blocks;
  }

  // Whether the warps beside those that start tensor copies run a map, behind those that they run
  // already, while the rest of the launch runs.
  bool is_served(const Launch &launch, const Part &part) const {
    const Part &first = launch.parts[0];
    if (place(first, part) != Place::Dealt || !has_core(first.schedule) ||
        !is_wgmma(*first.schedule.core.op))
      return true;
    double dealt = cost::dealt_map_seconds(part.placed.group.anchor, first.schedule, target_);
    double rest = 0;
    for (const Part &each : launch.parts)
      if (each.place == Place::Dealt)
        dealt += cost::dealt_map_seconds(each.placed.group.anchor, first.schedule, target_);
      else
        rest += cost::predict(each.placed.group, each.schedule, target_).seconds;
    return dealt <= rest;
  }

  Place place(const Part &first, const Part &part) const {
    if (!is_map(part))
      return launch::out_of_step(first, part, target_) ? Place::Blocks : Place::InStep;
    if (launch::lies_between(first, part))
      return Place::Between;
    return target_.lanes == LaneKind::WorkItem ? Place::Dealt : Place::Blocks;
  }

  bool add(Launch &launch, Part &part) const {
    if (add_class(launch, part, target_))
      return true;
    part.place = place(launch.parts[0], part);
    const bool fits = !launch::wrong_beside(launch, part, target_);
    if (fits)
      launch.parts.push_back(std::move(part));
    else
      part.place = Place::Blocks;
    return fits;
  }

  std::vector<Part> &parts_;
  const Target &target_;
  const LaunchSchedules schedules_;
};

bool is_joinable(const Part &partial, const Part &join) {
  return join.placed.joins_tiles && is_alone(partial.placed.group) &&
         poly::read_buffers(join.placed).count(poly::written_buffer(partial.placed)) > 0;
}

// The partial kernel as scheduled, or as it must be for its tiles to be joined; then both are moved
// from.
std::optional<Launch> joined(Part &partial, Part &last, const Target &target) {
  const nest::Nest &nest = partial.placed.group.anchor;
  schedule::TileJoin join = tile_join(nest, partial.schedule, last.placed.group.anchor, target);
  if (!join.refusal.empty()) {
    Searches searches(target);
    std::optional<Joinable> other = pick_joinable(nest, last.placed.group.anchor, searches);
    if (!other)
      return std::nullopt;
    take(partial, std::move(other->partial.schedule));
    join = std::move(other->join);
  }
  last.placed.group.anchor = std::move(join.nest);
  take(last, std::move(join.schedule));
  Launch launch;
  launch.parts.push_back(std::move(partial));
  launch.parts.push_back(std::move(last));
  launch.join = std::move(join.walk);
  return launch;
}

// A kernel with those that are small and run beside it, which leave the list.
Launch with_small(std::vector<Part> &kernels, std::size_t begin, const Target &target,
                  const PickOfSize &pick) {
  const std::vector<std::size_t> beside = beside_small(kernels, begin, target, pick);
  Launch launch{{std::move(kernels[begin])}};
  for (auto k = beside.rbegin(); k != beside.rend(); ++k) {
    launch.parts.insert(launch.parts.begin() + 1, std::move(kernels[*k]));
    kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(*k));
  }
  return launch;
}

// Behind the last of the kernels from `begin` on that are classes of one statement.
std::size_t end_of_classes(const std::vector<Part> &kernels, std::size_t begin) {
  std::size_t end = begin + 1;
  const auto is_class_of = [&](std::size_t one, std::size_t other) {
    return launch::are_classes(kernels[one].placed, kernels[other].placed);
  };
  for (; end < kernels.size(); ++end)
    for (std::size_t k = begin; k < end; ++k)
      if (!is_class_of(k, end))
        return end;
  return end;
}

} // namespace

std::vector<Launch> choose_launches(std::vector<Part> kernels, const Target &target,
                                    const PickOfSize &pick, Sharing sharing) {
  const bool moves = sharing == Sharing::Any;
  Joining joining(kernels, target, pick);
  std::vector<Launch> launches;
  for (std::size_t begin = 0; begin < kernels.size();) {
    if (moves && begin + 1 < kernels.size() && is_joinable(kernels[begin], kernels[begin + 1]))
      if (std::optional<Launch> launch = joined(kernels[begin], kernels[begin + 1], target)) {
        launches.push_back(std::move(*launch));
        begin += 2;
        continue;
      }
    std::size_t end = moves ? end_of_classes(kernels, begin) : begin + 1;
    if (end - begin == 1) {
      launches.push_back(moves ? with_small(kernels, begin, target, pick)
                               : Launch{{std::move(kernels[begin])}});
      if (moves)
        add_reduction(launches.back(), kernels, begin, target);
      if (sharing == Sharing::InOrder)
        end = add_followers(launches.back(), kernels, end, target);
    } else {
      for (Launch &launch : joining.run(begin, end))
        launches.push_back(std::move(launch));
    }
    begin = end;
  }
  return launches;
}

} // namespace tilefuse::search
