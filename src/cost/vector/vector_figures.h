// SPDX-License-Identifier: Apache-2.0
// What cost::figures says of nests with explicit vectors.
#pragma once

#include "cost/estimate.h"
#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::cost {

// Requires a legal schedule.
Figures vector_figures(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::cost
