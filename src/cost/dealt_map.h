// SPDX-License-Identifier: Apache-2.0
// Time of a map that is dealt to the warps beside those that start tensor copies (launch/launch.h).
// They are few and have few registers, so that what it reads comes as fast as the loads that these
// hold are answered; zeros, which read nothing, cost their bytes alone:
//
//   seconds = max(bytes / bandwidth, bytes read * latency / (work-items * bytes under way of each))
//
//   work-items      96 of each of the launch's blocks
//   bytes under way 4 for each register but 16
//   latency         that of tensor copies at work
#pragma once

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Seconds of the map `dealt` beside a kernel with the schedule `first`, which has a warp that starts
// tensor copies.
double dealt_map_seconds(const nest::Nest &dealt, const schedule::Schedule &first,
                         const Target &target);

} // namespace tilefuse::cost
