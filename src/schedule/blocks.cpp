// SPDX-License-Identifier: Apache-2.0
#include "schedule/blocks.h"

#include <algorithm>

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

std::int64_t up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

} // namespace

std::int64_t core_blocks(const Nest &nest, const Schedule &schedule) {
  if (is_wgmma(*schedule.core.op)) {
    const TileGrid grid = tile_grid(nest, schedule);
    const std::int64_t all = grid.clusters() * schedule.core.cluster();
    return schedule.core.blocks > 0 ? std::min(all, schedule.core.blocks) : all;
  }
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  std::int64_t count = up(roles.points, tile.rows) * up(roles.channel_points, tile.columns);
  for (int i : roles.grid)
    count *= extent(nest, i);
  return count;
}

std::int64_t blocks(const Nest &nest, const Schedule &schedule) {
  if (has_core(schedule))
    return core_blocks(nest, schedule);
  std::int64_t count = 1;
  for (const IndexId i : output_indices(nest))
    count *= up(extent(nest, i), schedule.splits[i].of_block());
  return count;
}

} // namespace tilefuse::schedule
