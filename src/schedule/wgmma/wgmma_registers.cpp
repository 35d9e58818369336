// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_registers.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {
namespace {

using Reason = std::optional<std::string>;

constexpr int kUnit = 8;                // registers are given by so many
constexpr int kLeast = 24;              // of a work-item, by setmaxnreg
constexpr int kMost = 240;              // likewise
constexpr int kMostLead = 4;            // copies that warps which gather begin ahead
constexpr std::int64_t kBlockRows = 64; // of one wgmma

int multiplying_groups(const Core &core) {
  return static_cast<int>(core.warp_rows * core.warp_columns) * core.turns;
}

bool is_wrong(int registers) {
  return registers < kLeast || registers > kMost || registers % kUnit != 0;
}

Reason wrong_registers(const Schedule &schedule) {
  const Core &core = schedule.core;
  if (core.copy_registers == 0 && core.math_registers == 0 && core.map_registers == 0)
    return {};
  if (is_wrong(core.copy_registers) || is_wrong(core.math_registers) ||
      (core.mappers > 0 && is_wrong(core.map_registers)))
    return fmt::format("{}, {} and {} registers; it needs multiples of {} from {} to {}",
                       core.copy_registers, core.math_registers, core.map_registers, kUnit, kLeast,
                       kMost);
  const int given = launch_registers(schedule) * warp_groups(schedule);
  const int taken = core.copy_registers + multiplying_groups(core) * core.math_registers +
                    core.mappers * core.map_registers;
  if (taken > given)
    return fmt::format("{} registers by groups of warps, the launch gives {}", taken, given);
  return {};
}

} // namespace

int warp_groups(const Schedule &schedule) {
  return multiplying_groups(schedule.core) + 1 + schedule.core.mappers;
}

int launch_registers(const Schedule &schedule) {
  return kLaunchRegisters / warp_groups(schedule) / kUnit * kUnit;
}

bool can_copy_early(const Gemm &gemm) {
  const auto filter = static_cast<std::size_t>(gemm.roles.filter);
  return gemm.core().window == 0 && !gemm.core().gathers && !gemm.roles.data_turned &&
         (gemm.nest.inputs[filter].constant || is_packed(gemm.schedule.fills[filter]));
}

Reason wrong_roles(const Gemm &gemm) {
  const Core &core = gemm.core();
  if (core.early && !can_copy_early(gemm))
    return "only a filter that is known at load time and copied by steps is copied early";
  const int most = core.gathers      ? std::min(core.ring - 1, kMostLead)
                   : core.window > 0 ? (core.window - 1) / 2
                                     : 0;
  if (core.lead < 0 || core.lead > most)
    return fmt::format("{} copies begun ahead; at most {}", core.lead, most);
  if (core.k_inner && (core.swapped ? gemm.tile.warp_columns : gemm.tile.warp_rows) <= kBlockRows)
    return "a step has one block of rows, whose instructions follow each other anyway";
  return wrong_registers(gemm.schedule);
}

} // namespace tilefuse::schedule
