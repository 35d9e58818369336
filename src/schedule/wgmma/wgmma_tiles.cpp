// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_tiles.h"

#include <algorithm>

#include "base/divide.h"
#include "base/index.h"
#include "nest/index.h"
#include "nest/points.h"
#include "schedule/staging.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::schedule {
namespace {

constexpr std::int64_t kLeastColumns = 8; // of an instruction, that parts of tiles have

} // namespace

ColumnPlan column_plan(const Gemm &gemm) {
  if (!gemm.roles.data_turned || !gemm.roles.filter_turned) {
    return {.parts = gemm.roles.grid,
            .columns = gemm.roles.channel_points,
            .products = points_of(gemm.nest, gemm.roles.grid)};
  }
  const std::int64_t channels = gemm.nest.indices[at(gemm.roles.channel)].extent;
  ColumnPlan plan{.panels = ceil_div(channels, gemm.panel)};
  plan.columns = plan.panels * gemm.panel;
  plan.taps = filter_taps(gemm.nest, gemm.roles);
  for (const IndexId i : gemm.roles.grid) {
    const bool is_tap = std::find(plan.taps.begin(), plan.taps.end(), i) != plan.taps.end();
    if (!is_tap)
      plan.parts.push_back(i);
    (is_tap ? plan.columns : plan.products) *= extent(gemm.nest, i);
  }
  if (const auto last = std::find(plan.taps.begin(), plan.taps.end(), gemm.halo.tap);
      last != plan.taps.end()) {
    std::rotate(last, last + 1, plan.taps.end());
    plan.beside = gemm.halo.taps;
  }
  return plan;
}

TileGrid tile_grid(const Gemm &gemm) {
  const ColumnPlan plan = column_plan(gemm);
  TileGrid grid{
      .rows = 1, .columns = ceil_div(plan.columns, gemm.tile.columns), .products = plan.products};
  if (has_box(gemm))
    for (const IndexId i : gemm.roles.pixels)
      grid.rows *= ceil_div(extent(gemm.nest, i), gemm.schedule.splits[at(i)].tile);
  else
    grid.rows = ceil_div(gemm.roles.points, gemm.tile.rows);
  grid.cluster_rows = ceil_div(grid.rows, gemm.schedule.tiles.cluster_m);
  grid.cluster_columns = ceil_div(grid.columns, gemm.schedule.tiles.cluster_n);
  return grid;
}

bool deals_kept_filter(const Gemm &gemm) {
  return gemm.schedule.core.swap_ab && has_resident(gemm.schedule) && gemm.roles.filter_turned &&
         gemm.run() == kPairs;
}

PartSlices part_slices(const Schedule &schedule) {
  const std::int64_t halves = schedule.tiles.split_k > 1 && !schedule.core.swap_ab ? 2 : 1;
  return {halves, schedule.tiles.split_k / halves};
}

std::int64_t most_steps(const Gemm &gemm) {
  return ceil_div(core_steps(gemm), gemm.schedule.tiles.split_k);
}

std::int64_t joined_columns(const Gemm &gemm) {
  if (gemm.schedule.core.swap_ab)
    return kLeastColumns;
  if (gemm.roles.filter_turned && (gemm.roles.data_turned || gemm.run() != kDealtWords))
    return gemm.roles.data_turned || exchanges(gemm) ? kPanelColumns : kLeastColumns;
  return std::max<std::int64_t>(kLeastColumns, 4 * gemm.run());
}

std::int64_t clusters_at_once(const Target &target, std::int64_t blocks) {
  const std::int64_t used = blocks > 2 ? target.compute_units * 17 / 20 : target.compute_units;
  return std::max<std::int64_t>(1, used / blocks);
}

} // namespace tilefuse::schedule
