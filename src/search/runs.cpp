// SPDX-License-Identifier: Apache-2.0
#include "search/runs.h"

#include <algorithm>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/blocks.h"
#include "schedule/rolling.h"

namespace tilefuse::search {
namespace {

using nest::IndexId;
using nest::Nest;
using schedule::Schedule;

// Whether tiles along the index share elements of some tensor that is produced for them.
bool overlaps(const poly::Group &group, const Nest &nest, poly::MemberId member, IndexId index) {
  if (has_halo(group, nest, member, index))
    return true;
  Schedule along = schedule::scalar_schedule(nest);
  along.splits[index].roll = 1;
  for (const poly::MemberId p : producing_members(group)) {
    const poly::Producer &producer = producer_at(group, p);
    if (producer.consumer != member)
      continue;
    const auto next = schedule::follow(group, nest, along, {}, p);
    if (next && next->index && overlaps(group, producer.nest, p, *next->index))
      return true;
  }
  return false;
}

} // namespace

bool has_halo(const poly::Group &group, const Nest &nest, poly::MemberId member, IndexId index) {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (!producer_of(group, member, static_cast<int>(k)))
      continue;
    for (const nest::Dim &dim : nest.inputs[k].dims)
      if (dim.at.coeff[index] != 0 && std::count(dim.at.coeff.begin(), dim.at.coeff.end(), 0) + 1 !=
                                          static_cast<std::ptrdiff_t>(dim.at.coeff.size()))
        return true;
  }
  return false;
}

std::vector<Schedule> runs(const poly::Group &group, const Schedule &schedule,
                           const Target &target) {
  std::vector<Schedule> all = {schedule};
  const Nest &nest = group.anchor;
  const std::int64_t blocks = schedule::blocks(nest, schedule);
  for (const IndexId i : output_indices(nest)) {
    const std::int64_t tile = schedule.splits[i].tile;
    const std::int64_t tiles = ceil_div(extent(nest, i), tile);
    if (tiles == 1 || !overlaps(group, nest, poly::kAnchor, i))
      continue;
    std::int64_t last = 1;
    for (const std::int64_t share : {4, 2, 1}) {
      const std::int64_t others = blocks / tiles;
      const std::int64_t parts =
          std::max<std::int64_t>(1, ceil_div(share * std::max(1, target.compute_units), others));
      const std::int64_t roll = ceil_div(tiles, parts);
      if (roll <= last)
        continue;
      last = roll;
      all.push_back(schedule);
      all.back().splits[i].roll = roll;
    }
  }
  return all;
}

} // namespace tilefuse::search
