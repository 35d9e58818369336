// SPDX-License-Identifier: Apache-2.0
// Time of a nest with explicit vectors, on cores with caches of their own, one block at a time.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// What cost::predict says of it; with `whole` the nest is a tile anywhere in it, whose results stay
// local. Requires a legal schedule.
Estimate predict_vector(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target, const nest::Nest *whole = nullptr);
// Of the estimate what is told of a register tile before blocks are made of its steps: seconds to
// compute, to store and, if asked for, to refill, by block; blocks; and those of the launch.
Estimate predict_vector_tile(const nest::Nest &nest, const schedule::Schedule &schedule,
                             const Target &target, bool with_refill);
// What cost::demands says of it.
Demands vector_demands(const nest::Nest &nest, const schedule::Schedule &schedule,
                       const Target &target);

} // namespace tilefuse::cost
