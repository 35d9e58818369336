// SPDX-License-Identifier: Apache-2.0
#include "model/plan/launches.h"

#include <algorithm>
#include <deque>

#include "launch/classes.h"
#include "lower/launch/between.h"
#include "lower/launch/in_step.h"
#include "lower/launch/join_last.h"
#include "lower/launch/side_by_side.h"
#include "lower/pipeline.h"
#include "model/plan/launch_arguments.h"
#include "model/plan/launch_schedules.h"
#include "poly/group_buffers.h"
#include "schedule/mma/core.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "search/joinable.h"

namespace tilefuse::model {
namespace {

constexpr double kMoreTiles = 1.25; // there would be if all multiprocessors took as many

Launch alone(std::size_t kernel) { return {{kernel}, {Place::Blocks}, {}, {}}; }

// The global buffer of a kernel that its group's result is.
kernel::BufferId result_of(const LaunchPart &part) {
  const std::vector<schedule::KernelArg> args = kernel_args(part.placed->group, *part.schedule);
  const int slot = part.placed->group.anchor.out.slot;
  const auto found =
      std::find_if(args.begin(), args.end(), [&](const auto &arg) { return arg.slot == slot; });
  return kernel::BufferId{static_cast<int>(found - args.begin())};
}

kernel::Kernel lowered(const LaunchPart &part, const Target &target) {
  return lower::lower(part.placed->group, *part.schedule, target);
}

class Joining {
public:
  Joining(const std::vector<LaunchPart> &parts, const Target &target, const PickOfSize &pick)
      : parts_(parts), target_(target), schedules_(parts, target, pick) {}

  // Of kernels begin to end, which go together: the slowest with all that fit beside it, and the
  // rest.
  std::vector<Launch> run(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> order;
    for (std::size_t k = begin; k < end; ++k)
      order.push_back(k);
    schedules_.leave_alone(order);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return schedules_.seconds(a) > schedules_.seconds(b);
    });
    const auto first =
        std::find_if(order.begin(), order.end(), [&](std::size_t k) { return !is_map(parts_[k]); });
    schedules_.equalise(order);
    if (first != order.end())
      schedules_.follow(*first, order);
    std::vector<Launch> launches(1);
    if (first == order.end())
      launches.clear();
    else
      std::rotate(order.begin(), first, first + 1);
    for (const std::size_t k : order)
      if (first == order.end() || !add(launches[0], k))
        launches.push_back(alone(k));
    if (first != order.end())
      even_steps(launches[0]);
    return launches;
  }

private:
  kernel::Kernel lowered(std::size_t k) const { return model::lowered(parts_[k], target_); }

  bool fits(const Launch &launch) {
    std::vector<kernel::Kernel> kernels;
    for (std::size_t p = 0; p < launch.kernels.size(); ++p)
      if (launch.places[p] != Place::Between)
        kernels.push_back(lowered(launch.kernels[p]));
    std::vector<lower::SidePart> sides;
    for (const kernel::Kernel &kernel : kernels)
      sides.push_back({.kernel = &kernel, .arguments = {}});
    std::int64_t used = 0;
    for (lower::SidePart &side : sides)
      for (const kernel::Buffer &buffer : side.kernel->buffers)
        if (buffer.space == kernel::Space::Global)
          side.arguments.push_back(static_cast<int>(used++));
    return lower::side_local_bytes(sides) <= target_.local_bytes;
  }

  // Blocks of one would be those of two parts.
  bool has_clusters(const Launch &launch) const {
    return launch.kernels.size() > 1 &&
           std::any_of(launch.kernels.begin(), launch.kernels.end(),
                       [&](std::size_t k) { return parts_[k].schedule->core.cluster() > 1; });
  }

  // Whether a first part with a matrix instruction can store the constants of part k.
  bool lies_between(const LaunchPart &first, std::size_t k) const {
    if (!has_core(*first.schedule))
      return false;
    const std::optional<lower::Between> found =
        lower::between(first.placed->group.anchor, parts_[k].placed->group.anchor);
    return found && can_store(model::lowered(first, target_), result_of(first), *found);
  }

  // Whether part k is in step with the first: multiprocessors take nearly as many tiles each, and
  // groups in turns several (without a loop over tiles they spill; NVRTC 13.0, sm_90a).
  bool steps(const LaunchPart &first, std::size_t k) const {
    const schedule::Schedule &own = *first.schedule;
    if (!has_core(own) || !is_wgmma(*own.core.op) || !(own.core == parts_[k].schedule->core) ||
        own.core.window > 0 || own.core.mappers > 0 || own.core.gathers)
      return false;
    const kernel::Kernel kernel = model::lowered(first, target_);
    const std::int64_t tiles = tile_grid(first.placed->group.anchor, own).tiles();
    const std::int64_t units = std::max<std::int64_t>(kernel.blocks, target_.compute_units);
    const std::int64_t rounds = (tiles + units - 1) / units;
    return (rounds > 1 || own.core.turns == 1) &&
           static_cast<double>(rounds * units) <= kMoreTiles * static_cast<double>(tiles) &&
           lower::can_step(kernel, lowered(k));
  }

  // Groups that take turns have as many parts each: of an odd number the last has its own blocks.
  void even_steps(Launch &launch) const {
    const auto last = std::find(launch.places.rbegin(), launch.places.rend(), Place::InStep);
    const auto others = std::count(launch.places.begin(), launch.places.end(), Place::InStep);
    if (others > 0 && others % 2 == 0 && parts_[launch.kernels[0]].schedule->core.turns > 1)
      *last = Place::Blocks;
  }

  Place place(const Launch &launch, std::size_t k) const {
    if (launch.kernels.empty())
      return Place::Blocks;
    const LaunchPart &first = parts_[launch.kernels[0]];
    if (is_map(parts_[k]))
      return lies_between(first, k)                ? Place::Between
             : target_.lanes == LaneKind::WorkItem ? Place::Dealt
                                                   : Place::Blocks;
    return steps(first, k) ? Place::InStep : Place::Blocks;
  }

  bool add(Launch &launch, std::size_t k) {
    Launch more = launch;
    more.places.push_back(place(launch, k));
    more.kernels.push_back(k);
    const bool has_size =
        launch.kernels.empty() || more.places.back() != Place::Blocks ||
        group_size(*parts_[k].schedule) == group_size(*parts_[launch.kernels[0]].schedule);
    if (!has_size || has_clusters(more) || !fits(more))
      return false;
    launch = std::move(more);
    return true;
  }

  const std::vector<LaunchPart> &parts_;
  const Target &target_;
  const LaunchSchedules schedules_;
};

bool is_joinable(const LaunchPart &partial, const LaunchPart &join) {
  return join.placed->joins_tiles && partial.placed->group.producers.empty() &&
         poly::read_buffers(*join.placed).count(poly::written_buffer(*partial.placed)) > 0;
}

// The partial kernel as scheduled, or as it must be for its tiles to be joined.
std::optional<Launch> joined(const std::vector<LaunchPart> &parts, std::size_t first,
                             const Target &target) {
  const LaunchPart &partial = parts[first];
  const LaunchPart &last = parts[first + 1];
  const nest::Nest &nest = partial.placed->group.anchor;
  schedule::TileJoin join = tile_join(nest, *partial.schedule, last.placed->group.anchor, target);
  if (!join.refusal.empty()) {
    std::optional<search::Joinable> other =
        search::pick_joinable(nest, last.placed->group.anchor, target);
    if (!other)
      return std::nullopt;
    take(partial, std::move(other->partial.schedule));
    join = std::move(other->join);
  }
  last.placed->group.anchor = std::move(join.nest);
  take(last, std::move(join.schedule));
  Launch launch{{first, first + 1}, {Place::Blocks, Place::Blocks}, {}, {}};
  launch.joins = std::move(join.walk);
  return launch;
}

} // namespace

std::string_view to_string(Place place) {
  switch (place) {
  case Place::Blocks:
    return "blocks";
  case Place::Dealt:
    return "dealt";
  case Place::Between:
    return "between";
  case Place::InStep:
    return "in step";
  }
  return {};
}

PickOfSize pick_of_size(const Target &target) {
  return
      [&target](const poly::Group &group, std::int64_t size) -> std::optional<schedule::Schedule> {
        for (search::Candidate &candidate : candidates_of(group, target))
          if (group_size(candidate.schedule) == size)
            return std::move(candidate.schedule);
        return std::nullopt;
      };
}

std::vector<Launch> make_launches(const std::vector<LaunchPart> &parts, const Target &target,
                                  const PickOfSize &pick, bool joins) {
  Joining joining(parts, target, pick);
  std::vector<Launch> launches;
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin + 1;
    if (joins && end < parts.size() && is_joinable(parts[begin], parts[end]))
      if (std::optional<Launch> launch = joined(parts, begin, target)) {
        launches.push_back(std::move(*launch));
        begin += 2;
        continue;
      }
    const auto joins_all = [&](const LaunchPart &part) {
      return std::all_of(
          parts.begin() + static_cast<std::ptrdiff_t>(begin),
          parts.begin() + static_cast<std::ptrdiff_t>(end),
          [&](const LaunchPart &one) { return launch::are_classes(*one.placed, *part.placed); });
    };
    while (joins && end < parts.size() && joins_all(parts[end]))
      ++end;
    if (end - begin == 1)
      launches.push_back(alone(begin));
    else
      for (Launch &launch : joining.run(begin, end))
        launches.push_back(std::move(launch));
    begin = end;
  }
  for (Launch &launch : launches)
    number_arguments(launch, parts);
  return launches;
}

kernel::Kernel lower_launch(const Launch &launch, const std::vector<LaunchPart> &parts,
                            const Target &target) {
  if (launch.kernels.size() == 1)
    return lowered(parts[launch.kernels[0]], target);
  std::deque<lower::Lowered> kernels;
  std::vector<lower::SidePart> sides;
  const auto first = [&]() -> const LaunchPart & { return parts[launch.kernels[0]]; };
  const bool in_step =
      std::find(launch.places.begin(), launch.places.end(), Place::InStep) != launch.places.end();
  for (std::size_t p = 0; p < launch.kernels.size(); ++p) {
    const LaunchPart &part = parts[launch.kernels[p]];
    if (launch.places[p] == Place::Between) {
      sides[0].between.push_back(
          *lower::between(first().placed->group.anchor, part.placed->group.anchor));
      continue;
    }
    kernels.push_back(lower::lower_part(part.placed->group, *part.schedule, target));
    sides.push_back({.kernel = &kernels.back().kernel,
                     .arguments = launch.arguments[p],
                     .is_dealt = launch.places[p] == Place::Dealt,
                     .results = result_of(part)});
    if (in_step && (p == 0 || launch.places[p] == Place::InStep))
      sides.back().step = {part.schedule->core.ring,
                           core_steps(part.placed->group.anchor, *part.schedule),
                           *kernels.back().place};
  }
  return launch.joins ? lower::join_last(sides, *launch.joins) : lower::side_by_side(sides);
}

} // namespace tilefuse::model
