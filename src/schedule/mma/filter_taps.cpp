// SPDX-License-Identifier: Apache-2.0
#include "schedule/mma/filter_taps.h"

#include <algorithm>
#include <numeric>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"

namespace tilefuse::schedule {

std::vector<IndexId> filter_taps(const nest::Nest &nest, const CoreRoles &roles) {
  const nest::Linear data = nest::flat(nest.inputs[at(roles.data)], nest.indices.size());
  const nest::Linear filter = nest::flat(nest.inputs[at(roles.filter)], nest.indices.size());
  std::vector<IndexId> taps;
  std::copy_if(roles.grid.begin(), roles.grid.end(), std::back_inserter(taps),
               [&](IndexId i) { return data.coeff[at(i)] == 0 && filter.coeff[at(i)] != 0; });
  return taps;
}

StepHalo step_halo_of(const nest::Nest &nest, const CoreRoles &roles, std::int64_t depth) {
  const IndexId along = roles.depth();
  const auto &dims = nest.inputs[at(roles.filter)].dims;
  const auto line = std::find_if(
      dims.begin(), dims.end(), [&](const nest::Dim &dim) { return dim.at.coeff[at(along)] == 1; });
  if (line == dims.end())
    return {};
  const std::vector<IndexId> taps = filter_taps(nest, roles);
  const bool has_parts = points_of(nest, roles.grid) > points_of(nest, taps);
  for (const IndexId tap : taps) {
    StepHalo halo{.tap = tap, .taps = extent(nest, tap), .apart = line->at.coeff[at(tap)]};
    if (halo.taps == 1 || halo.apart < 1)
      continue;
    const std::int64_t lines = roles.depth_points / extent(nest, along);
    const std::int64_t unit = has_parts ? depth / std::gcd(lines, depth) : 1;
    halo.line = round_up(extent(nest, along) + halo.reach(), unit);
    return halo;
  }
  return {};
}

} // namespace tilefuse::schedule
