// SPDX-License-Identifier: Apache-2.0
// Time of a map that is dealt to the warps beside those that start tensor copies (launch/launch.h).
// They are few and have few registers, so that what it reads comes as fast as the loads that these
// hold are answered:
//
//   seconds = bytes read * latency / (work-items * bytes under way of each)
//
//   work-items      96 of each of the launch's blocks
//   bytes under way 4 for each register but 16
//   latency         that of tensor copies at work
#pragma once

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Seconds that the map `dealt` waits for what it reads, beside a kernel with the schedule `first`,
// which has a warp that starts tensor copies. 0 of zeros, which cost their bytes alone.
double dealt_map_seconds(const nest::Nest &dealt, const schedule::Schedule &first,
                         const Target &target);

} // namespace tilefuse::cost
