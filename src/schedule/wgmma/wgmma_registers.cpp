// SPDX-License-Identifier: Apache-2.0
#include "schedule/wgmma/wgmma_registers.h"

#include <algorithm>

#include "base/range.h"

namespace tilefuse::schedule {
namespace {

using Reason = std::optional<std::string>;

// Registers of a multiprocessor, by groups of four warps: those of one work-item of each.
constexpr int kLaunchRegisters = 512;
constexpr int kUnit = 8;     // registers are given by so many
constexpr int kLeast = 24;   // of a work-item, by setmaxnreg
constexpr int kMost = 240;   // likewise
constexpr int kMostLead = 4; // copies that warps which gather begin ahead

int multiplying_groups(const Schedule &schedule) {
  return static_cast<int>(schedule.core.warp_rows * schedule.core.warp_columns) *
         schedule.roles.math.instances;
}

// Of a group's tile.
std::int64_t rows_of_a(const Gemm &gemm) {
  return gemm.core().swap_ab ? gemm.tile.warp_columns : gemm.tile.warp_rows;
}

Range of_role(std::string_view what, int registers) {
  return {what, registers, kLeast, kMost, kUnit};
}

Reason wrong_registers(const Schedule &schedule) {
  const auto &[load, transform, math] = schedule.roles;
  if (load.registers == 0 && math.registers == 0 && transform.registers == 0)
    return {};
  const int given = launch_registers(schedule) * warp_groups(schedule);
  const int taken = load.registers + multiplying_groups(schedule) * math.registers +
                    transform.groups * transform.registers;
  return outside(
      {of_role("load.registers", load.registers),
       of_role("math.registers", math.registers),
       of_role("transform.registers", transform.groups > 0 ? transform.registers : kLeast),
       {"registers", taken, 0, given}});
}

} // namespace

int warp_groups(const Schedule &schedule) {
  return multiplying_groups(schedule) + 1 + schedule.roles.transform.groups;
}

int launch_registers(const Schedule &schedule) {
  return kLaunchRegisters / warp_groups(schedule) / kUnit * kUnit;
}

std::int64_t fragment_registers(const Gemm &gemm) {
  const std::int64_t blocks = rows_of_a(gemm) / kGroupRows;
  return a_in_registers(gemm) ? kFragmentSets * blocks * gemm.core().op->a.values() : 0;
}

int registers_of_panels(int panels) {
  constexpr int kElements = 32;
  constexpr int kBeside = 40; // where they lie, and the ring
  return kBeside + kElements * panels;
}

int panels_together(const Schedule &schedule) {
  const int registers = schedule.roles.transform.registers;
  const int given = registers > 0 ? registers : launch_registers(schedule);
  int panels = 1;
  while (registers_of_panels(panels + 1) <= given)
    ++panels;
  return panels;
}

bool can_copy_early(const Gemm &gemm) {
  const auto filter = static_cast<std::size_t>(gemm.roles.filter);
  return halo_stages(gemm.schedule) == 0 && !has_loading_warps(gemm.schedule) &&
         !gemm.roles.data_turned &&
         (gemm.nest.inputs[filter].constant || is_packed(gemm.schedule.fills[filter]));
}

// Warps that load say that a step is there when `lead` more are begun, and a buffer is let go of when
// the step behind it is multiplied: two buffers are neither free nor begun. They wait for room for a
// tile's operands behind the lead of its steps, when all of the tile before are there to be
// multiplied. A filter that is kept may have one step alone.
int most_lead(const Gemm &gemm) {
  if (!has_loading_warps(gemm.schedule))
    return halo_stages(gemm.schedule) > 0 ? (halo_stages(gemm.schedule) - 1) / 2 : 0;
  const int most = std::clamp(step_stages(gemm.schedule) - 2, 0, kMostLead);
  return gemm.schedule.extra.stages == 0 ? most
                                         : std::min(most, static_cast<int>(core_steps(gemm)) - 1);
}

Reason wrong_roles(const Gemm &gemm) {
  const Core &core = gemm.core();
  const std::int64_t blocks = // of rows, whose instructions of a step can follow each other
      is_wgmma(*core.op) ? rows_of_a(gemm) / kGroupRows : 1;
  if (core.k_inner && blocks <= 1)
    return "k_inner orders instructions of several blocks of 64 rows, and there is one";
  if (Reason reason = outside({"load.lead", gemm.schedule.roles.load.lead, 0, most_lead(gemm)}))
    return reason;
  return wrong_registers(gemm.schedule);
}

} // namespace tilefuse::schedule
