// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/row_blocks.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {

using nest::Nest;

const nest::Dim *dim_of(const nest::Operand &operand, IndexId index) {
  const auto found =
      std::find_if(operand.dims.begin(), operand.dims.end(),
                   [&](const nest::Dim &dim) { return dim.at.coeff[at(index)] != 0; });
  return found == operand.dims.end() ? nullptr : &*found;
}

std::int64_t blocks_apart(const nest::Dim &dim, std::int64_t block) { return dim.stride / block; }

std::optional<IndexId> neighbour_of(const Nest &nest, const CoreRoles &roles) {
  const std::int64_t block = extent(nest, roles.depth());
  std::optional<IndexId> nearest;
  std::int64_t least = 0;
  for (const IndexId pixel : roles.pixels) {
    const nest::Dim *dim = dim_of(nest.inputs[at(roles.data)], pixel);
    const std::int64_t moved = dim == nullptr ? 0 : dim->at.coeff[at(pixel)] * dim->stride;
    if (moved <= 0 || dim->stride % block != 0 || (nearest && moved >= least))
      continue;
    nearest = pixel;
    least = moved;
  }
  return nearest;
}

bool in_panels(const CoreRoles &roles, const Schedule &schedule) {
  return roles.has_blocks() && !has_loading_warps(schedule);
}

bool in_rows(const CoreRoles &roles, const Schedule &schedule) {
  return in_panels(roles, schedule) && halo_stages(schedule) == 0;
}

RowBlocks row_blocks(const Nest &nest, const Schedule &schedule, const CoreRoles &roles) {
  const std::optional<IndexId> pixel =
      in_rows(roles, schedule) ? neighbour_of(nest, roles) : std::nullopt;
  if (!pixel)
    return {};
  const nest::Dim &dim = *dim_of(nest.inputs[at(roles.data)], *pixel);
  RowBlocks row{.used = schedule.splits[*pixel].tile,
                .step = dim.at.coeff[*pixel] * blocks_apart(dim, extent(nest, roles.depth()))};
  while (row.held < (row.used - 1) * row.step + 1)
    row.held *= 2;
  return row;
}

} // namespace tilefuse::schedule
