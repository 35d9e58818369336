// SPDX-License-Identifier: Apache-2.0
#include "search/forms/roles.h"

#include <algorithm>

#include "schedule/blocks.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_registers.h"
#include "schedule/wgmma/wgmma_tiles.h"
#include "target/quirks.h"

namespace tilefuse::search {
namespace {

using schedule::Core;
using schedule::Schedule;

constexpr int kMapperRegisters = 112;
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
  const std::int64_t clusters = core_blocks(gemm) / schedule.core.cluster();
  const std::int64_t tiles = tile_grid(gemm).clusters();
  return (tiles + clusters - 1) / clusters <= kMostTiles;
}

// Slices and masks of a cluster take more, operands fetched ahead, and a filter copied early, of
// which all buffers of a ring are written out (NVRTC 13.0, sm_90a).
int registers_to_copy(const Schedule &schedule, int multiplying) {
  const Core &core = schedule.core;
  if (core.gathers)
    return core.window > 0 && multiplying == 2 ? kWindowRegisters : kGatherRegisters;
  if (core.mappers == 0 && !schedule.producers.empty())
    return kCopyingMapperRegisters;
  if (core.cluster() > 1 || core.ahead > 0 || (core.early && core.mappers == 0))
    return kMoreRegisters;
  return multiplying > 2 ? kFewRegisters : kCopyRegisters;
}

// Where one group multiplies, all have what the launch gives.
void assign_registers(Schedule &schedule) {
  Core &core = schedule.core;
  core.copy_registers = core.math_registers = core.map_registers = 0;
  const int groups = warp_groups(schedule);
  const int multiplying = groups - 1 - core.mappers;
  if (multiplying < 2)
    return;
  core.copy_registers = registers_to_copy(schedule, multiplying);
  core.map_registers = core.mappers > 0 ? kMapperRegisters : 0;
  const int rest =
      launch_registers(schedule) * groups - core.copy_registers - core.mappers * core.map_registers;
  core.math_registers = std::min(kMostMath, rest / multiplying / 8 * 8);
}

} // namespace

void assign_roles(const nest::Nest &anchor, Schedule &schedule, const Target &target) {
  if (!has_core(schedule) || !is_wgmma(*schedule.core.op))
    return;
  Core &core = schedule.core;
  const bool maps = !schedule.producers.empty() && !core.gathers;
  core.early = copies_early(anchor, schedule);
  // Of windows one is mapped and one multiplied at least; as many again as are copied ahead are for
  // more.
  core.lead = core.gathers ? std::clamp(core.ring / 2, 1, kMostLead)
              : core.window > 0 && maps && core.mappers == 0 ? (core.window - 1) / 2
                                                             : 0;
  // Selection is faster beside a filter that is kept (H200), slower beside one that streams, and
  // takes more registers than many rows leave.
  core.blends = maps && core.keeps_filter;
  core.tests_rows = core.swapped && has(target, Quirk::EarlyConversion);
  // A block of rows that follows itself waits for its sums (2 to 3 % of tiles of 128x128 in turns,
  // H200).
  core.k_inner = false;
  // Blocks that run together read the same rows of data.
  core.raster = schedule::Raster::Columns;
  assign_registers(schedule);
}

} // namespace tilefuse::search
