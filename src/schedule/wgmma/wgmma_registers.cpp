// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_registers.h"

#include <algorithm>

namespace tilefuse::schedule {
namespace {

constexpr int kLaunchRegisters = 512; // by groups: what a work-item gets at launch
constexpr int kMapperRegisters = 112;
constexpr int kCopyingMapperRegisters = 128;
constexpr int kGatherRegisters = 104;
constexpr int kWindowRegisters = 136; // of windows, beside two groups

} // namespace

RegisterPlan register_plan(const Schedule &schedule, bool copies_ahead) {
  const auto consumers =
      static_cast<int>(schedule.core.warp_rows * schedule.core.warp_columns) * schedule.core.turns;
  const int groups = consumers + 1 + schedule.core.mappers;
  if (consumers < 2)
    return {};
  const int launch = kLaunchRegisters / groups / 8 * 8;
  const bool maps = schedule.core.mappers == 0 && !schedule.producers.empty();
  // Slices and masks of a cluster take more, operands fetched ahead, and a filter copied ahead, of
  // which all buffers of a ring are written out (NVRTC 13.0, sm_90a).
  const bool takes_more = schedule.core.cluster() > 1 || schedule.core.ahead > 0 ||
                          (copies_ahead && schedule.core.mappers == 0);
  const bool has_room = schedule.core.window > 0 && consumers == 2;
  const int gatherer = has_room ? kWindowRegisters : kGatherRegisters;
  const int producer = schedule.core.gathers ? gatherer
                       : maps                ? kCopyingMapperRegisters
                       : takes_more          ? 56
                       : consumers > 2       ? 32
                                             : 40;
  const int rest = launch * groups - producer - schedule.core.mappers * kMapperRegisters;
  return {producer, std::min(240, rest / consumers / 8 * 8),
          schedule.core.mappers > 0 ? kMapperRegisters : 0, launch};
}

} // namespace tilefuse::schedule
