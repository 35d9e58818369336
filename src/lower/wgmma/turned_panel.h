// SPDX-License-Identifier: Apache-2.0
// A panel of columns of a turned filter beside turned data (schedule/wgmma/wgmma.h): channels at
// one tap.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lower/context.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

struct TurnedPanel {
  kernel::ExprRef channel{};           // its first
  std::vector<kernel::ExprRef> points; // by index: of its taps, others 0
};

// The panel that starts at `column`, or the last where that is past the end; `named` gives a value
// a name.
TurnedPanel
turned_panel(Context &cx, const schedule::CoreRoles &roles, const schedule::ColumnPlan &plan,
             kernel::ExprRef column,
             const std::function<kernel::ExprRef(const std::string &, kernel::ExprRef)> &named);

// Columns of a panel.
std::int64_t panel_columns(const schedule::CoreTile &tile);

} // namespace tilefuse::lower
