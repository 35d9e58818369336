// SPDX-License-Identifier: Apache-2.0
// Time of a nest with matrix instructions.
#pragma once

#include "cost/estimate.h"
#include "cost/gpu/fed_ring.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

Figures core_figures(const nest::Nest &nest, const schedule::Schedule &schedule,
                     const Target &target);

// Matrix instructions: multiprocessors that run many blocks at a time.
Estimate predict_core(const nest::Nest &nest, const schedule::Schedule &schedule,
                      const Target &target, const FedRing &fed = {});
// Of the products for one tile of a consumer, on a target of one unit.
Estimate predict_core_tile(const nest::Nest &tile, const schedule::Schedule &schedule,
                           const Target &unit);

} // namespace tilefuse::cost
