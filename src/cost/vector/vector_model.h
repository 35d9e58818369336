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
// What cost::demands says of it.
Demands vector_demands(const nest::Nest &nest, const schedule::Schedule &schedule,
                       const Target &target);

} // namespace tilefuse::cost
