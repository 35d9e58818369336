// SPDX-License-Identifier: Apache-2.0
// How many blocks a schedule launches.
#pragma once

#include <cstdint>

#include "nest/nest.h"
#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Blocks of the whole grid.
std::int64_t blocks(const nest::Nest &nest, const Schedule &schedule);
// The same of a schedule with a matrix instruction, whose blocks may take several tiles each.
std::int64_t core_blocks(const Gemm &gemm);

} // namespace tilefuse::schedule
