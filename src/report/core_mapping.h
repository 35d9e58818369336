// SPDX-License-Identifier: Apache-2.0
// What a schedule makes of a product that matrix instructions compute, in words.
#pragma once

#include <string>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// Per input how its tile of a step lies in local memory and what copies it there; what post-ops
// read; how results leave. Requires a matrix instruction.
std::string core_layouts(const poly::Group &group, const schedule::Schedule &schedule);

// Tiles and blocks, the tile of a block, of a warp and of an instruction, steps, accumulators.
// Requires a matrix instruction.
std::string core_mapping(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
