// SPDX-License-Identifier: Apache-2.0
// Predicted time of (nest, schedule, target), with its reasons. The unit inside is the *slot*: the time one core needs per
// vector multiply-add at full rate. A register tile costs the larger of its multiply-adds, its loads and the
// latency of its accumulator chains; to that come staging, post-ops and stores, bytes that do not fit the caches, and the
// tail of the last wave of blocks.
#pragma once

#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

struct Estimate {
  double seconds = 0;    // of the whole kernel on all units
  double compute = 0;    // seconds of one unit per block, by part
  double staging = 0;
  double stores = 0;
  double memory = 0;     // beyond the second-level cache
  double launch = 0;     // seconds per kernel
  std::int64_t blocks = 1;
  double waves = 1;      // rounds of blocks over the units
};

// Requires a legal schedule.
Estimate predict(const nest::Nest& nest, const schedule::Schedule& schedule, const Target& target);

// One line per part, with units.
std::string explain(const Estimate& estimate);

}  // namespace tilefuse::cost
