// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_tiles.h"

#include "base/index.h"
#include "nest/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/staging.h"
#include "schedule/wgmma/pixel_box.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

constexpr std::int64_t kPairs = 2; // vec of columns as the instruction leaves them

std::int64_t up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

} // namespace

ColumnPlan column_plan(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  if (!roles.data_turned || !roles.filter_turned) {
    ColumnPlan plan{.parts = roles.grid, .columns = roles.channel_points};
    for (int i : roles.grid)
      plan.products *= nest.indices[at(i)].extent;
    return plan;
  }
  const std::int64_t channels = nest.indices[at(roles.channel)].extent;
  const std::int64_t across =
      kPanelBytes / size_bytes(type_of(nest, nest.inputs[at(roles.filter)]));
  ColumnPlan plan{.panels = up(channels, across)};
  plan.columns = plan.panels * across;
  const nest::Linear data = nest::flat(nest.inputs[at(roles.data)], nest.indices.size());
  const nest::Linear filter = nest::flat(nest.inputs[at(roles.filter)], nest.indices.size());
  for (int i : roles.grid) {
    const std::int64_t extent = nest.indices[at(i)].extent;
    const bool is_tap = data.coeff[at(i)] == 0 && filter.coeff[at(i)] != 0;
    (is_tap ? plan.taps : plan.parts).push_back(i);
    (is_tap ? plan.columns : plan.products) *= extent;
  }
  return plan;
}

TileGrid tile_grid(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  const CoreTile tile = core_tile(nest, schedule);
  const ColumnPlan plan = column_plan(nest, schedule);
  TileGrid grid{.rows = 1, .columns = up(plan.columns, tile.columns), .products = plan.products};
  if (has_box(nest, schedule))
    for (int i : roles.pixels)
      grid.rows *= up(nest.indices[at(i)].extent, schedule.splits[at(i)].tile);
  else
    grid.rows = up(roles.points, tile.rows);
  grid.cluster_rows = up(grid.rows, schedule.core.cluster_rows);
  grid.cluster_columns = up(grid.columns, schedule.core.cluster_columns);
  return grid;
}

bool exchanges(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  return roles.filter_turned && schedule.splits[at(roles.channel)].vec == kPanelVec;
}

// That of the result where nothing but its rounding follows the sum.
DType exchanged_type(const Nest &nest) {
  const DType out = type_of(nest, nest.out);
  const program::Expr &post = nest.post;
  const bool is_rounding = post.kind == program::Expr::Kind::Cast && post.type == out &&
                           post.args[0].kind == program::Expr::Kind::Acc;
  return is_rounding || post.kind == program::Expr::Kind::Acc ? out : held_type(nest);
}

bool deals_kept_filter(const Nest &nest, const Schedule &schedule) {
  const CoreRoles roles = core_roles(nest, schedule);
  return schedule.core.swapped && schedule.core.keeps_filter && roles.filter_turned &&
         schedule.splits[at(roles.channel)].vec == kPairs;
}

std::int64_t storing_warps(const Schedule &schedule) {
  const Core &core = schedule.core;
  return kGroupItems / kCoreLanes * core.warp_rows * core.warp_columns * core.turns;
}

const CoreOp *wgmma_op_for(const Nest &nest, std::int64_t columns, bool tf32) {
  if (nest.inputs.size() != 2 || type_of(nest, nest.inputs[1]) != type_of(nest, nest.inputs[0]))
    return nullptr;
  for (const CoreOp &op : core_ops())
    if (is_wgmma(op) && op.n == columns && op.a.type == type_of(nest, nest.inputs[0]) &&
        op.tf32 == tf32 && op.d.type == held_type(nest))
      return &op;
  return nullptr;
}

} // namespace tilefuse::schedule
