// SPDX-License-Identifier: Apache-2.0
#include "target/ceilings.h"

#include <algorithm>

namespace tilefuse {

double Ceilings::seconds_to_move(double bytes) const {
  double least = 0;
  for (const MemoryLevel &level : levels) {
    least = std::max(least, bytes / level.bytes_per_s);
    bytes = std::max(0.0, bytes - level.bytes);
  }
  return least;
}

void Ceilings::raise_to(double flops, double bytes, double seconds) {
  if (seconds <= 0)
    return;
  flops_per_s = std::max(flops_per_s, flops / seconds);
  for (MemoryLevel &level : levels) {
    level.bytes_per_s = std::max(level.bytes_per_s, bytes / seconds);
    bytes = std::max(0.0, bytes - level.bytes);
  }
}

Ceilings stated_ceilings(const Target &target) {
  return {.flops_per_s = target.gflops_per_unit * target.compute_units * 1e9,
          .levels = {{.bytes = 0, .bytes_per_s = target.gbytes_per_s * 1e9}}};
}

} // namespace tilefuse
