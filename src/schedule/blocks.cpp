// SPDX-License-Identifier: Apache-2.0
#include "schedule/blocks.h"

#include <algorithm>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

} // namespace

std::int64_t core_blocks(const Gemm &gemm) {
  if (gemm.is_wgmma()) {
    const TileGrid grid = tile_grid(gemm);
    const std::int64_t all = grid.clusters() * gemm.schedule.tiles.cluster();
    return gemm.schedule.tiles.persistent > 0 ? std::min(all, gemm.schedule.tiles.persistent) : all;
  }
  std::int64_t count = ceil_div(gemm.roles.points, gemm.tile.rows) *
                       ceil_div(gemm.roles.channel_points, gemm.tile.columns);
  return count * points_of(gemm.nest, gemm.roles.grid);
}

std::int64_t blocks(const Nest &nest, const Schedule &schedule) {
  if (has_core(schedule))
    return core_blocks(gemm_of(nest, schedule));
  std::int64_t count = 1;
  for (const IndexId i : output_indices(nest))
    count *= ceil_div(extent(nest, i), schedule.splits[i].of_block());
  return count;
}

} // namespace tilefuse::schedule
