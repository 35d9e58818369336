// SPDX-License-Identifier: Apache-2.0
// Time of a nest with work-items, on multiprocessors that run many blocks at a time.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/gpu/lane_access.h"

namespace tilefuse::cost {

// What cost::predict says of it. Requires a legal schedule.
Estimate predict_work_items(const LaneView &view);
// What cost::demands says of it. Requires the same.
Demands work_item_demands(const LaneView &view);

} // namespace tilefuse::cost
