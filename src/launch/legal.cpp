// SPDX-License-Identifier: Apache-2.0
#include "launch/legal.h"

#include <algorithm>

#include <fmt/format.h>

#include "launch/between.h"
#include "launch/following.h"
#include "launch/step.h"
#include "poly/group_buffers.h"
#include "schedule/blocks.h"
#include "schedule/members.h"
#include "schedule/mma/core_roles.h"

namespace tilefuse::launch {
namespace {

using Reason = std::optional<std::string>;

Reason wrong_part(const Part &part, const Target &target) {
  const std::size_t slots = group_slots(part.placed.group).size();
  if (part.placed.buffers.size() != slots)
    return fmt::format("it has {} buffers for {} slots", part.placed.buffers.size(), slots);
  return schedule::illegal(part.placed.group, part.schedule, target);
}

bool writes_any(const poly::PlacedGroup &writer, const poly::PlacedGroup &reader) {
  const std::set<program::BufferId> read = poly::read_buffers(reader);
  return std::any_of(read.begin(), read.end(),
                     [&](program::BufferId buffer) { return poly::writes(writer, buffer); });
}

// Parts run beside each other in any order, but for those that follow.
Reason wrong_order(const Launch &launch) {
  for (std::size_t a = 0; a < launch.parts.size(); ++a)
    for (std::size_t b = 0; b < launch.parts.size(); ++b)
      if (a != b && launch.parts[b].place != Place::Following &&
          writes_any(launch.parts[a].placed, launch.parts[b].placed))
        return fmt::format("part {} reads what part {} writes", b, a);
  return {};
}

// Elements from the first to the last that one store of a matrix instruction's results writes.
std::int64_t stored_run(const nest::Nest &nest, const schedule::Schedule &schedule) {
  const nest::IndexId channel = core_roles(nest, schedule).channel;
  return (schedule.splits[channel].vec - 1) *
             nest::flat(nest.out, nest.indices.size()).coeff[channel] +
         1;
}

Reason wrong_place(const Part &first, const Part &part, const Target &target) {
  switch (part.place) {
  case Place::Blocks:
    return group_size(part.schedule) == group_size(first.schedule)
               ? Reason{}
               : fmt::format("it has {} work-items a block, the first part {}",
                             group_size(part.schedule), group_size(first.schedule));
  case Place::Dealt:
    return is_map(part) && is_alone(part.placed.group) && part.schedule.lanes == LaneKind::WorkItem
               ? Reason{}
               : "only work-items that read no inputs are dealt to others";
  case Place::Between:
    return lies_between(first, part) ? Reason{}
                                     : "its points do not lie beside results of the first part";
  case Place::InStep:
    return out_of_step(first, part, target);
  case Place::Following:
    break;
  }
  return {};
}

// Groups that take turns have as many parts each.
Reason uneven_turns(const Launch &launch) {
  const auto others = std::count_if(launch.parts.begin(), launch.parts.end(),
                                    [](const Part &part) { return part.place == Place::InStep; });
  return others > 0 && others % 2 == 0 && launch.parts.front().schedule.roles.math.instances > 1
             ? Reason{"an odd number of parts, by groups that take turns"}
             : Reason{};
}

// Buffers of one name and type are one, as large as the largest.
Reason wrong_memory(const std::vector<const Part *> &parts, const Target &target) {
  std::vector<schedule::LocalBuffer> all;
  for (const Part *each : parts) {
    const Part &part = *each;
    if (part.place == Place::Between)
      continue;
    for (schedule::LocalBuffer &own : local_buffers(part.placed.group, part.schedule)) {
      const auto like =
          std::find_if(all.begin(), all.end(), [&](const auto &each) { return each.is_like(own); });
      if (like == all.end())
        all.push_back(std::move(own));
      else
        like->elems = std::max(like->elems, own.elems);
    }
  }
  std::int64_t bytes = 0;
  for (const schedule::LocalBuffer &buffer : all)
    bytes += buffer.bytes();
  if (bytes <= target.local_bytes)
    return {};
  return fmt::format("its parts need {} bytes of local memory, the target has {}", bytes,
                     target.local_bytes);
}

// Why the last of some parts cannot stand at its place beside those before it.
Reason wrong_last(const std::vector<const Part *> &parts, const Target &target) {
  for (const Part *each : parts)
    if (each->schedule.tiles.cluster() > 1)
      return "blocks of a cluster would be those of two parts";
  if (parts.back()->place == Place::Following)
    return cannot_follow({parts.begin(), parts.end() - 1}, *parts.back());
  if (Reason reason = wrong_place(*parts.front(), *parts.back(), target))
    return reason;
  return wrong_memory(parts, target);
}

bool are_counts(const std::vector<std::int64_t> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](std::int64_t each) { return each > 0; });
}

// A digit names an output index of the join, or the part, and counts something.
bool are_digits(const std::vector<schedule::TileDigit> &digits, std::size_t outputs) {
  return std::all_of(digits.begin(), digits.end(), [&](const schedule::TileDigit &digit) {
    return (!digit.index || at(*digit.index) < outputs) && digit.count > 0;
  });
}

// The first part's blocks are the walk's tiles and parts, and each tile is whole blocks of the
// second.
Reason wrong_join(const Launch &launch) {
  if (launch.parts.size() != 2)
    return fmt::format("a join of {} parts; it has the partial sums and what adds them up",
                       launch.parts.size());
  const Part &partial = launch.parts[0], &join = launch.parts[1];
  const schedule::TileWalk &walk = *launch.join;
  const auto outputs = static_cast<std::size_t>(join.placed.group.anchor.output_indices);
  if (walk.blocks.size() != outputs || walk.grid.size() != outputs ||
      !are_digits(walk.digits, outputs) || !are_counts(walk.blocks) || !are_counts(walk.grid))
    return "the join walks other indices than it has";
  if (partial.schedule.tiles.cluster() > 1)
    return "the parts that are joined run in clusters";
  if (walk.first_item < 0 || walk.first_item >= group_size(partial.schedule))
    return fmt::format("work-item {} of {} joins", walk.first_item, group_size(partial.schedule));
  if (walk.tiles() * walk.parts() != blocks(partial.placed.group.anchor, partial.schedule))
    return "the first part has other blocks than tiles and parts of them";
  if (has_core(join.schedule) || !is_alone(join.placed.group) ||
      !local_buffers(join.placed.group, join.schedule).empty())
    return "a join has no local memory of its own";
  return {};
}

} // namespace

bool lies_between(const Part &first, const Part &constants) {
  const nest::Nest &results = first.placed.group.anchor;
  if (!has_core(first.schedule) || first.schedule.store == schedule::Store::Tma)
    return false;
  const std::optional<Between> found = between(results, constants.placed.group.anchor);
  return found && std::all_of(found->edges.begin(), found->edges.end(), [&](const auto &edge) {
           return stored_run(results, first.schedule) <= edge.stride;
         });
}

Reason wrong_beside(const Launch &launch, const Part &part, const Target &target) {
  std::vector<const Part *> parts;
  for (const Part &other : launch.parts)
    parts.push_back(&other);
  parts.push_back(&part);
  return wrong_last(parts, target);
}

Reason illegal(const Launch &launch, const Target &target) {
  if (launch.parts.empty())
    return "it has no part";
  if (launch.parts.front().place != Place::Blocks)
    return "its first part has no blocks of its own";
  for (std::size_t p = 0; p < launch.parts.size(); ++p)
    if (Reason reason = wrong_part(launch.parts[p], target))
      return launch.parts.size() == 1 ? reason : fmt::format("part {}: {}", p, *reason);
  if (launch.join)
    return wrong_join(launch);
  if (Reason reason = wrong_order(launch))
    return reason;
  std::vector<const Part *> parts = {&launch.parts.front()};
  for (std::size_t p = 1; p < launch.parts.size(); ++p) {
    parts.push_back(&launch.parts[p]);
    if (Reason reason = wrong_last(parts, target))
      return fmt::format("part {}: {}", p, *reason);
  }
  return uneven_turns(launch);
}

} // namespace tilefuse::launch
