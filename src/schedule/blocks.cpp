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

std::int64_t core_blocks(const Gemm &gemm) {
  if (is_wgmma(*gemm.core().op)) {
    const TileGrid grid = tile_grid(gemm);
    const std::int64_t all = grid.clusters() * gemm.schedule.tiles.cluster();
    return gemm.schedule.tiles.persistent > 0 ? std::min(all, gemm.schedule.tiles.persistent) : all;
  }
  std::int64_t count =
      up(gemm.roles.points, gemm.tile.rows) * up(gemm.roles.channel_points, gemm.tile.columns);
  for (const IndexId i : gemm.roles.grid)
    count *= extent(gemm.nest, i);
  return count;
}

std::int64_t blocks(const Nest &nest, const Schedule &schedule) {
  if (has_core(schedule))
    return core_blocks(gemm_of(nest, schedule));
  std::int64_t count = 1;
  for (const IndexId i : output_indices(nest))
    count *= up(extent(nest, i), schedule.splits[i].of_block());
  return count;
}

} // namespace tilefuse::schedule
