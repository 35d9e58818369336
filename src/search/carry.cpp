// SPDX-License-Identifier: Apache-2.0
#include "search/carry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Schedule;
using schedule::Split;

// The place in `to` of each index of `from`.
using Places = Indexed<IndexId, std::optional<IndexId>>;

Places places(const Nest &from, const Nest &to) {
  Places all(from.indices.size());
  for (const IndexId i : from.indices.ids())
    for (const IndexId k : to.indices.ids())
      if (from.indices[i].name == to.indices[k].name && is_output(from, i) == is_output(to, k))
        all[i] = k;
  return all;
}

Indexed<IndexId, Split> carried_splits(const Nest &from, const Schedule &schedule, const Nest &to,
                                       const Places &places) {
  Indexed<IndexId, Split> splits(to.indices.size());
  for (const IndexId k : nest::reduced_indices(to))
    splits[k].tile = extent(to, k);
  for (const IndexId i : from.indices.ids()) {
    if (!places[i])
      continue;
    Split split = schedule.splits[i];
    const std::int64_t points = extent(to, *places[i]);
    if (!is_output(from, i)) {
      split.tile = split.tile == extent(from, i) ? points : std::min(split.tile, points);
      split.keep = std::min(split.keep, split.tile);
    }
    splits[*places[i]] = split;
  }
  return splits;
}

std::vector<IndexId> carried_order(const Schedule &schedule, const Nest &to, const Places &places) {
  std::vector<IndexId> order;
  for (const bool is_of_outputs : {true, false}) {
    for (const IndexId k : to.indices.ids())
      if (is_output(to, k) == is_of_outputs &&
          std::find(places.begin(), places.end(), k) == places.end())
        order.push_back(k);
    for (const IndexId i : schedule.order)
      if (places[i] && is_output(to, *places[i]) == is_of_outputs)
        order.push_back(*places[i]);
  }
  return order;
}

} // namespace

std::optional<Schedule> carry(const Nest &from, const Schedule &schedule, const Nest &to) {
  const Places to_place = places(from, to);
  Schedule carried = schedule;
  for (schedule::LanePart &part : carried.lane_parts) {
    if (!to_place[part.index])
      return std::nullopt;
    part.index = *to_place[part.index];
  }
  for (schedule::Pipe &pipe : carried.pipes) {
    if (pipe.at && !to_place[*pipe.at])
      return std::nullopt;
    pipe.at = pipe.at ? to_place[*pipe.at] : std::nullopt;
  }
  carried.splits = carried_splits(from, schedule, to, to_place);
  carried.order = carried_order(schedule, to, to_place);
  return carried;
}

} // namespace tilefuse::search
