// SPDX-License-Identifier: Apache-2.0
// Time of a nest with work-items, on multiprocessors that run many blocks at a time.
#pragma once

#include <vector>

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/gpu/lane_access.h"

namespace tilefuse::cost {

// A producer of a group that runs for the tiles of a block: its nest as it runs, how often, and by
// input whether another member reads the same tensor there, so that the first-level cache has it.
struct MadeTile {
  LaneView view;
  double runs = 1; // of a block
  std::vector<bool> is_near = {};
};

// What cost::predict says of it, of a group's anchor with all that its blocks run. Requires a legal
// schedule.
Estimate predict_work_items(const LaneView &view, const std::vector<MadeTile> &made = {});
// No more than the seconds that predict_work_items says, from what is known before inputs have
// places: multiply-adds, and one read of each fragment without a conflict. Requires factors within
// the extents, of a nest with inputs; not that the schedule is legal.
double least_seconds(const nest::Nest &nest, const schedule::Schedule &schedule,
                     const Target &target);
// What cost::demands says of it. Requires the same.
Demands work_item_demands(const LaneView &view);

} // namespace tilefuse::cost
