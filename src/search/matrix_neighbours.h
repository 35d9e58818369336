// SPDX-License-Identifier: Apache-2.0
// Schedules near one with a matrix instruction: what tuning tries around the best it has measured,
// along every axis of the space (schedule/schedule.h): the instruction and its tile, warps, the
// depth of a step, each pipe's footprint, engine and stages, what post-ops read, how results leave,
// roles, and the order of tiles.
#pragma once

#include <optional>

#include "base/random.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// A legal schedule that differs from a legal one in one to three decisions. Requires a matrix
// instruction. Nothing when no try of a number was legal and different. The same state of `random`
// gives the same schedule.
std::optional<schedule::Schedule> matrix_neighbour(const nest::Nest &nest, const Target &target,
                                                   const schedule::Schedule &of, Random &random);

} // namespace tilefuse::search
