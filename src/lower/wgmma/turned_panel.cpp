// SPDX-License-Identifier: Apache-2.0
#include "lower/wgmma/turned_panel.h"

#include "base/index.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

using kernel::ExprRef;

std::int64_t panel_columns(const schedule::CoreTile &tile) {
  return schedule::kPanelBytes / tile.elem_bytes;
}

TurnedPanel turned_panel(Context &cx, const schedule::CoreRoles &roles,
                         const schedule::ColumnPlan &plan, ExprRef column,
                         const std::function<ExprRef(const std::string &, ExprRef)> &named) {
  kernel::Builder &b = cx.build;
  const schedule::CoreTile &tile = cx.gemm().tile;
  const std::int64_t across = panel_columns(tile);
  TurnedPanel panel{column, std::vector<ExprRef>(cx.nest.indices.size(), b.integer(0))};
  if (plan.taps.empty())
    return panel;
  ExprRef number = b.div(column, b.integer(across));
  const std::int64_t apart = cx.schedule.tiles.cluster_n * tile.columns;
  if (plan.columns % apart != 0)
    number = b.min(number, b.integer(plan.columns / across - 1));
  number = named("panel", number);
  panel.channel = named("c_" + cx.nest.indices[roles.channel].name,
                        b.mul(b.mod(number, b.integer(plan.panels)), b.integer(across)));
  ExprRef rest = b.div(number, b.integer(plan.panels));
  for (auto i = plan.taps.rbegin(); i != plan.taps.rend(); ++i) {
    const ExprRef extent = b.integer(cx.nest.indices[*i].extent);
    const bool is_last = i + 1 == plan.taps.rend();
    panel.points[at(*i)] =
        named("t_" + cx.nest.indices[*i].name, is_last ? rest : b.mod(rest, extent));
    rest = b.div(rest, extent);
  }
  return panel;
}

} // namespace tilefuse::lower
