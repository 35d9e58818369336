// SPDX-License-Identifier: Apache-2.0
// Predicted time of a group's kernel: the anchor's, and what its producers take.
#pragma once

#include "cost/model.h"
#include "poly/group.h"
#include "schedule/resolved.h"
#include "schedule/rolling.h"

namespace tilefuse::cost {

// Time of the whole kernel. Requires a legal schedule.
Estimate predict(const poly::Group &group, const schedule::Schedule &schedule,
                 const Target &target);

Estimate predict(const schedule::Resolved &resolved, const Target &target);

// What the kernel demands, the most first, nothing that it does not: the anchor's, and as one line
// what its producers add. Requires a legal schedule.
Demands demands(const poly::Group &group, const schedule::Schedule &schedule, const Target &target);

// Time of one tile of a producer's nest under its schedule, whose results stay in the block's
// memory. It lies anywhere in the whole: of taps outside the tensor it has the same share.
Estimate predict_tile(const nest::Nest &whole, const nest::Nest &tile,
                      const schedule::Schedule &schedule, const Target &target);
// Seconds of one fill by a producer whose whole tile takes `tile` seconds, where tiles roll: of the
// rows that are computed, and of moving those that stay.
double rolled_seconds(double tile, const nest::Nest &nest, const schedule::Rolling &rolling,
                      const Target &target);
// Seconds that evaluating a pointwise producer adds to the copy of one tile that its consumer
// makes. One unit.
double map_fill_seconds(const nest::Nest &tile, const Target &target);
// Seconds of a sum of what the kernel before it has written, from those predicted of it alone.
double sum_again_seconds(double alone, const Target &target);
// Times that one run of a nest under its schedule, of all its blocks, fills an input's buffer.
double fills(const nest::Nest &nest, const schedule::Schedule &schedule, int input);

} // namespace tilefuse::cost
