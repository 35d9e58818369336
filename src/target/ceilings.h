// SPDX-License-Identifier: Apache-2.0
// What no kernel of a device can exceed: multiply-adds per second, and bytes per second out of each
// level of its memory. A level serves at most what it holds, so bytes that it cannot hold are moved
// by the next one: a kernel that moves 40 MB beside 34 MB of caches needs 6 MB of memory at least.
#pragma once

#include <vector>

#include "target/target.h"

namespace tilefuse {

struct MemoryLevel {
  double bytes = 0;       // held, of all units together; of the last level not asked for
  double bytes_per_s = 0; // read and written, by all units together

  friend bool operator==(const MemoryLevel &, const MemoryLevel &) = default;
};

struct Ceilings {
  double flops_per_s = 0;          // fp32, two for a multiply-add
  std::vector<MemoryLevel> levels; // the nearest first, memory last

  // That moving so many different bytes takes at least, wherever they lie.
  double seconds_to_move(double bytes) const;
  // Raised to what a kernel has reached that took so long: clocks change from one second to the
  // next, and what has been reached can be.
  void raise_to(double flops, double bytes, double seconds);

  friend bool operator==(const Ceilings &, const Ceilings &) = default;
};

// By the row alone, which says nothing of a cache's rate: everything comes from memory.
Ceilings stated_ceilings(const Target &target);

} // namespace tilefuse
