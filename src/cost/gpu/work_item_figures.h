// SPDX-License-Identifier: Apache-2.0
// What cost::figures says of nests with work-items.
#pragma once

#include "cost/estimate.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Requires a legal schedule.
Figures work_item_figures(const nest::Nest &nest, const schedule::Schedule &schedule,
                          const Target &target);

} // namespace tilefuse::cost
