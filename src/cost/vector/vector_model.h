// SPDX-License-Identifier: Apache-2.0
// Time of a nest with explicit vectors on cores with caches.
#pragma once

#include "cost/estimate.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Explicit vectors: cores with caches of their own, one block at a time. With `whole` the nest is a
// tile anywhere in it, whose results stay local.
Estimate predict_vector(const nest::Nest &nest, const schedule::Schedule &schedule,
                        const Target &target, const nest::Nest *whole = nullptr);

} // namespace tilefuse::cost
