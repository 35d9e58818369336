// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_memory.h"

#include "schedule/mma/core.h"
#include "schedule/wgmma/wgmma_ahead.h"
#include "schedule/wgmma/wgmma_panels.h"
#include "schedule/wgmma/wgmma_parts.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "schedule/wgmma/wgmma_window.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;

} // namespace

std::int64_t ring_local_bytes(const Nest &nest, const Schedule &schedule) {
  const Core &core = schedule.core;
  CoreTile tile = core_tile(nest, schedule);
  tile.rows = core.window > 0 ? 0 : tile.rows;
  return tile.ring_bytes(core.ring) +
         (core.window > 0 ? core.window * window_elems(nest, schedule) * tile.elem_bytes : 0);
}

std::int64_t wgmma_local_bytes(const Nest &nest, const Schedule &schedule) {
  const Core &core = schedule.core;
  std::int64_t of_warp =
      exchanges(nest, schedule) ? kPanelRows * kPanelRow * size_bytes(exchanged_type(nest)) : 0;
  if (const StorePanel panel = store_panel(nest, schedule); core.tensor_store)
    of_warp += panel.boxes * panel.elems() * panel.elem_bytes;
  // Barriers of a ring take less than a box's alignment.
  const std::int64_t rings = (core.window > 0 ? 2 : 1) + (core.ahead > 0 ? 1 : 0);
  return ring_local_bytes(nest, schedule) + storing_warps(schedule) * of_warp +
         joined_bytes(nest, schedule) + ahead_bytes(nest, schedule) + rings * kBoxAlign;
}

} // namespace tilefuse::schedule
