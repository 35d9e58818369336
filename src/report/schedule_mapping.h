// SPDX-License-Identifier: Apache-2.0
// What a schedule makes of a nest, in words and tables.
#pragma once

#include <string>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// Index box with the flat offset and strides of every operand, and what is left of constraints.
std::string nest_table(const nest::Nest &nest);

// Per input how its tile reaches the arithmetic: read in place, staged (range, strides in memory
// and in the buffer, per dimension) or packed (order in memory); with matrix instructions
// core_layouts().
std::string layouts(const poly::Group &group, const schedule::Schedule &schedule);

// Blocks per index, lanes, register copies, loops; with matrix instructions core_mapping().
std::string mapping(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
