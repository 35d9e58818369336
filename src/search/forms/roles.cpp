// SPDX-License-Identifier: Apache-2.0
#include "search/forms/roles.h"

#include <algorithm>

#include "base/divide.h"
#include "schedule/blocks.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::Schedule;

constexpr int kMapperRegisters = 112;
constexpr int kMostPanels = 3;    // that a warp turns at a time
constexpr int kEndRegisters = 56; // of warps that multiply, beside accumulators, at a tile's end
constexpr int kCopyingMapperRegisters = 128;
constexpr int kGatherRegisters = 104;
constexpr int kWindowRegisters = 136; // of warps that gather windows, beside two groups
constexpr int kCopyRegisters = 40;    // of warps that copy; beside three groups or more:
constexpr int kFewRegisters = 32;
constexpr int kMoreRegisters = 56;
constexpr int kMostMath = 240;
constexpr int kMostLead = 4; // gathered copies begun ahead

// Each step asks whether its filter is there: blocks of 128x128 in turns that take many tiles were
// 3 to 5 % slower (H200, batch 256).
bool copies_early(const nest::Nest &anchor, const Schedule &schedule) {
  constexpr std::int64_t kMostTiles = 2;
  const schedule::Gemm gemm = gemm_of(anchor, schedule);
  if (!can_copy_early(gemm))
    return false;
  const std::int64_t clusters = core_blocks(gemm) / schedule.tiles.cluster();
  const std::int64_t tiles = tile_grid(gemm).clusters();
  return ceil_div(tiles, clusters) <= kMostTiles;
}

// Slices and masks of a cluster take more, operands fetched ahead, and a filter copied early, of
// which all buffers of a ring are written out (NVRTC 13.0, sm_90a).
int registers_to_copy(const Schedule &schedule, int multiplying) {
  if (has_loading_warps(schedule))
    return halo_stages(schedule) > 0 && multiplying == 2 ? kWindowRegisters : kGatherRegisters;
  if (schedule.roles.transform.groups == 0 && !schedule.producers.empty())
    return kCopyingMapperRegisters;
  if (schedule.tiles.cluster() > 1 || schedule.extra.stages > 0 ||
      (schedule.roles.load.early && schedule.roles.transform.groups == 0))
    return kMoreRegisters;
  return multiplying > 2 ? kFewRegisters : kCopyRegisters;
}

// As many as the accumulators leave.
int registers_to_turn(const schedule::Gemm &gemm, int multiplying) {
  const Schedule &schedule = gemm.schedule;
  const schedule::CoreTile &tile = gemm.tile;
  const int all =
      launch_registers(schedule) * warp_groups(schedule) - schedule.roles.load.registers;
  const int sums =
      static_cast<int>(tile.warp_rows * tile.warp_columns / schedule::kGroupItems) + kEndRegisters;
  const auto fits = [&](int panels) {
    const int turning = schedule.roles.transform.groups * schedule::registers_of_panels(panels);
    return turning + multiplying * sums <= all;
  };
  const std::int64_t turned = turns_in_ring(gemm, gemm.roles.data) ? tile.rows : tile.columns;
  const auto of_warp = ceil_div(turned, gemm.panel * schedule::kGroupWarps);
  int panels = static_cast<int>(std::min<std::int64_t>(kMostPanels, of_warp));
  while (panels > 1 && !fits(panels))
    --panels;
  return schedule::registers_of_panels(panels);
}

// Where one group multiplies, all have what the launch gives.
void assign_registers(const schedule::Gemm &gemm, Schedule &schedule) {
  schedule::WarpRoles &roles = schedule.roles;
  roles.load.registers = roles.math.registers = roles.transform.registers = 0;
  const int groups = warp_groups(schedule);
  const int multiplying = groups - 1 - roles.transform.groups;
  if (multiplying < 2)
    return;
  roles.load.registers = registers_to_copy(schedule, multiplying);
  if (roles.transform.groups > 0)
    roles.transform.registers =
        turns_in_ring(gemm) ? registers_to_turn(gemm, multiplying) : kMapperRegisters;
  const int rest = launch_registers(schedule) * groups - roles.load.registers -
                   roles.transform.groups * roles.transform.registers;
  roles.math.registers = std::min(kMostMath, rest / multiplying / 8 * 8);
}

} // namespace

void assign_roles(const nest::Nest &anchor, Schedule &schedule, const Target &target) {
  if (!has_core(schedule) || !is_wgmma(*schedule.core.op))
    return;
  schedule::WarpRoles &roles = schedule.roles;
  const schedule::Gemm gemm = gemm_of(anchor, schedule);
  if (turns_in_ring(gemm))
    roles.transform.groups = std::max(1, roles.transform.groups);
  const bool maps = !schedule.producers.empty() && !has_loading_warps(schedule);
  roles.load.early = copies_early(anchor, schedule);
  // Of windows one is mapped and one multiplied at least; as many again as are copied ahead are for
  // more.
  const bool loads = has_loading_warps(schedule);
  if (loads || (maps && roles.transform.groups == 0))
    roles.load.lead = std::min(loads ? std::max(1, step_stages(schedule) / 2) : kMostLead,
                               most_lead(gemm_of(anchor, schedule)));
  else
    roles.load.lead = 0;
  // Selection is faster beside a filter that is kept (H200), slower beside one that streams, and
  // takes more registers than many rows leave.
  roles.transform.selects = maps && has_resident(schedule);
  roles.math.tests_rows = schedule.core.swap_ab && has(target, Quirk::EarlyConversion);
  // A block of rows that follows itself waits for its sums (2 to 3 % of tiles of 128x128 in turns,
  // H200).
  schedule.core.k_inner = false;
  // Blocks that run together read the same rows of data.
  schedule.tiles.raster = schedule::Raster::Columns;
  assign_registers(gemm, schedule);
}

} // namespace tilefuse::search
