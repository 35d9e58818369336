// SPDX-License-Identifier: Apache-2.0
// Schedules near a given one: what tuning tries around the best it has measured.
#pragma once

#include <optional>

#include "base/random.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// A legal schedule that differs from a legal one in one to three decisions: a tile, register
// copies, lanes, a chunk, the order of two loops, how an input is filled; with a matrix instruction
// see matrix_neighbours.h. Nothing when no try of a
// number was legal and different. The same state of `random` gives the same schedule.
std::optional<schedule::Schedule> neighbour(const nest::Nest &nest, const Target &target,
                                            const schedule::Schedule &of, Random &random);

} // namespace tilefuse::search
