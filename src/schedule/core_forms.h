// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions at the sizes worth trying: `mma`; `mma_tf32`, which rounds
// f32 operands to tf32 and is therefore never chosen unless asked for by name; and `mma_nchw32`,
// the kernel of MegEngine's article for channels in blocks of 32 bytes.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/algorithms.h"

namespace tilefuse::schedule {

// Legal schedules, larger tiles first.
std::vector<Schedule> core_schedules(const nest::Nest &nest, const Target &target, bool tf32);

bool is_core_algorithm(std::string_view name);
// The largest tile that still gives every multiprocessor a block, or the one with the most blocks.
NamedSchedule named_core_schedule(std::string_view name, const nest::Nest &nest,
                                  const Target &target);

} // namespace tilefuse::schedule
