// SPDX-License-Identifier: Apache-2.0
// Taps of a filter beside turned data, whose columns are dealt out over them (schedule/mma/core.h).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/mma/core_roles.h"

namespace tilefuse::schedule {

// The output indices of the grid that move the filter alone, slowest first.
std::vector<IndexId> filter_taps(const nest::Nest &nest, const CoreRoles &roles);

// Neighbouring taps that read one window of a step's rows (`step_halo`).
struct StepHalo {
  IndexId tap{-1};        // their index, one of filter_taps
  std::int64_t taps = 1;  // its points; 1: each tap's rows are copied by themselves
  std::int64_t apart = 1; // rows of the window from one tap to the next
  std::int64_t line = 0;  // points of the depth's fastest index, with those that are zero
  std::int64_t reach() const { return (taps - 1) * apart; } // rows behind those of the step
};
// The first tap that shifts the filter along the lines of the depth, for steps of `depth` points;
// lines so long that the depth ends with a step where what follows it is another part's. One tap
// where no tap does. Requires both inputs turned.
StepHalo step_halo_of(const nest::Nest &nest, const CoreRoles &roles, std::int64_t depth);

} // namespace tilefuse::schedule
