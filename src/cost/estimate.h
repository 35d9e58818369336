// SPDX-License-Identifier: Apache-2.0
// What the cost model says of a kernel: its time with reasons, and figures that a simulation can
// confirm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tilefuse::cost {

// One step of the reasoning: what, how much, of what.
struct Reason {
  const char *what = "";
  double value = 0;
  const char *unit = "";
};

struct Estimate {
  double seconds = 0; // of the whole kernel on all units
  double compute = 0; // seconds of one unit per block, by part
  double staging = 0;
  double stores = 0;
  double refill = 0; // from the second-level cache to the first
  double memory = 0; // beyond the second-level cache
  double launch = 0; // seconds per kernel
  std::int64_t blocks = 1;
  double waves = 1; // time of the busiest unit over that of an average block
  std::vector<Reason> reasons;
};

// What the model takes a kernel to do, in the units of kernel/counts.h, so that a simulation can
// confirm it. Of the whole grid unless it says otherwise; nothing where the model has no figure.
struct Figures {
  double blocks = 1;
  std::optional<double> work_items;       // of a block
  std::optional<double> multiply_adds;    // of all work-items, those past an edge included
  std::optional<double> barriers;         // of blocks
  std::optional<double> local_bytes;      // of a block
  std::optional<double> registers;        // of a work-item
  std::optional<double> staged_bytes;     // stored to local memory
  std::optional<double> local_requests;   // reads of local memory by warps
  std::optional<double> local_wavefronts; // of those reads
  std::optional<double> local_conflicts;  // of those reads
  std::optional<double> sectors;          // of global memory, as warps ask for them
  std::optional<double> block_bytes;      // of global memory: what each block touches, summed
  std::optional<double> grid_bytes;       // of global memory: what the grid touches
};

} // namespace tilefuse::cost
