// SPDX-License-Identifier: Apache-2.0
// Predicted time of (nest, schedule, target), with its reasons. One entry for every kind of lane:
// vector_model for explicit vectors on cores with caches, work_item_model for GPUs. Every rate is
// read from the target; a model's own constants are properties of code generation (a lane that is
// not a neighbour costs a load and a shuffle), never of one device or one shape.
//
// An estimate carries what it was made of as lines in the order of the reasoning:
//
//   predicted 1270.4 us
//     register tile                10 accumulators
//     multiply-adds                 5 cycles per step
//     …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/estimate.h"
#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/rolling.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Requires a legal schedule.
Figures figures(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Requires a legal schedule.
Estimate predict(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Of a group's kernel: the anchor's, with what its producers take. Requires a legal schedule.
Estimate predict(const poly::Group &group, const schedule::Schedule &schedule,
                 const Target &target);

// Of one tile of a producer's nest under its schedule, whose results stay in the block's memory. It
// lies anywhere in the whole: of taps outside the tensor it has the same share.
Estimate predict_tile(const nest::Nest &whole, const nest::Nest &tile,
                      const schedule::Schedule &schedule, const Target &target);
// Of one fill by a producer whose whole tile takes `tile` seconds, where tiles roll: of the rows
// that are computed, and of moving those that stay.
double rolled_seconds(double tile, const nest::Nest &nest, const schedule::Rolling &rolling,
                      const Target &target);
// What evaluating a pointwise producer adds to the copy of one tile that its consumer makes. One
// unit.
double map_fill_seconds(const nest::Nest &tile, const Target &target);
// Times that one run of a nest under its schedule, of all its blocks, fills an input's buffer.
double fills(const nest::Nest &nest, const schedule::Schedule &schedule, int input);

// One line per reason, with units.
std::string explain(const Estimate &estimate);

} // namespace tilefuse::cost
