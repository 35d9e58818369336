// SPDX-License-Identifier: Apache-2.0
// Registers that the warps of a kernel with wgmma have, by what they do.
#pragma once

#include <cstdint>

#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Registers of a work-item by role; 0: as the launch gives them.
struct RegisterPlan {
  int producer = 0;
  int consumer = 0;
  int mapper = 0;
  int launch = 0; // what the launch gives
};
// `copies_ahead`: the producer copies a fixed filter before its steps.
RegisterPlan register_plan(const Schedule &schedule, bool copies_ahead = false);
// Of a work-item that multiplies, besides its accumulators.
constexpr std::int64_t kSpareRegisters = 40;

} // namespace tilefuse::schedule
