// SPDX-License-Identifier: Apache-2.0
// What a device's limits allow at best: the time that its peak arithmetic or its memory bandwidth
// alone would need, whichever is longer. Limits are the target's; a matrix instruction has the peak
// of the target's matrix units for its type, whichever instruction of the device reaches it. With
// measured ceilings a kernel's share of its time is at most 1: what caches hold is theirs to move.
#pragma once

#include "schedule/schedule.h"
#include "target/ceilings.h"
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
Roofline roofline(double operations, double bytes, const schedule::Schedule &schedule,
                  const Target &target, const Ceilings &ceilings);

} // namespace tilefuse::cost
