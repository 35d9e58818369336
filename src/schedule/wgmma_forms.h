// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on wgmma at the sizes worth trying: `wgmma`, and `wgmma_tf32`, which rounds f32
// operands to tf32 and is therefore never chosen unless asked for by name.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/algorithms.h"

namespace tilefuse::schedule {

// Legal schedules, larger tiles first.
std::vector<Schedule> wgmma_schedules(const nest::Nest &nest, const Target &target, bool tf32);

bool is_wgmma_algorithm(std::string_view name);
// The largest tile that still gives every multiprocessor a block, or the one with the most tiles.
NamedSchedule named_wgmma_schedule(std::string_view name, const nest::Nest &nest,
                                   const Target &target);

} // namespace tilefuse::schedule
