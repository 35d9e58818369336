// SPDX-License-Identifier: Apache-2.0
// What a device's limits allow at best: the time that its peak arithmetic or its memory bandwidth
// alone would need, whichever is longer. Limits are the target's; a matrix instruction has the peak
// of the device's matrix units for its type, whichever instruction of the device reaches it.
#pragma once

#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

struct Roofline {
  double arithmetic = 0; // seconds
  double memory = 0;     // seconds
  double seconds() const { return arithmetic > memory ? arithmetic : memory; }
  const char *limit() const { return arithmetic > memory ? "arithmetic" : "memory"; }
};

// Of a kernel that does `operations` and moves at least `bytes`.
Roofline roofline(double operations, double bytes, const schedule::Schedule &schedule,
                  const Target &target);

} // namespace tilefuse::cost
