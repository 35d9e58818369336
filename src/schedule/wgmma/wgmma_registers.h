// SPDX-License-Identifier: Apache-2.0
// Registers that the warps of a kernel with wgmma have, by what they do (schedule.h, WarpRoles).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/mma/core.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Of a work-item that multiplies, besides its accumulators.
constexpr std::int64_t kSpareRegisters = 40;
// Groups of four warps of a block: that copy, multiply and map.
int warp_groups(const Schedule &schedule);
// What the launch gives each work-item.
int launch_registers(const Schedule &schedule);

// Fragments of operand a for each 64 rows of a group, where registers hold it: one is loaded while the
// other is multiplied by. And their registers of a work-item; 0 where local memory holds a.
constexpr std::int64_t kFragmentSets = 2;
std::int64_t fragment_registers(const Gemm &gemm);
// Registers of a work-item that turns so many panels at a time (lower/wgmma/wgmma_transform.h), of
// which it has 32 elements each; and how many a schedule's transform role has registers for, 1 at least.
int registers_of_panels(int panels);
int panels_together(const Schedule &schedule);

// Whether the filter is known at load time and copied step by step, so that its first steps can be
// copied before earlier kernels end.
bool can_copy_early(const Gemm &gemm);

// Most copies that warps begin before they wait for one.
int most_lead(const Gemm &gemm);
// Why warps cannot have the registers, or copy as far ahead, as the schedule says.
std::optional<std::string> wrong_roles(const Gemm &gemm);

} // namespace tilefuse::schedule
