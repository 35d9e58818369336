// SPDX-License-Identifier: Apache-2.0
// Predicted time of (nest, schedule, target), with its reasons. One entry for every kind of lane:
// vector_model for explicit vectors on cores with caches, work_item_model for GPUs. Every rate of a
// GPU is read from the target (target/rates.h); a model's own constants are properties of code
// generation (a lane that is not a neighbour costs a load and a shuffle), never of one device or
// one shape.
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

#include "cost/demand.h"
#include "cost/estimate.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Requires a legal schedule.
Figures figures(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Requires a legal schedule.
Estimate predict(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Of a kernel with that estimate's seconds, in no order. Requires a legal schedule.
Demands demands(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// One line per reason, with units.
std::string explain(const Estimate &estimate);

} // namespace tilefuse::cost
