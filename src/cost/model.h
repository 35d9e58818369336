// SPDX-License-Identifier: Apache-2.0
// Predicted time of (nest, schedule, target), with its reasons. One entry for every kind of lane:
// vector_model for explicit vectors on cores with caches, work_item_model for GPUs. Every rate is
// read from the target; a model's own constants are properties of code generation (a lane that is
// not a neighbour costs a load and a shuffle), never of one device or one shape.
//
// An estimate carries what it was made of as lines in the order of the reasoning:
//
//   predicted 1270.4 us
//     register tile                10 accumulators
//     multiply-adds                 5 cycles per step
//     …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/rolling.h"
#include "schedule/schedule.h"
#include "target/target.h"

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

// Requires a legal schedule.
Figures figures(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Requires a legal schedule.
Estimate predict(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

// Of a group's kernel: the anchor's, with what its producers take. Requires a legal schedule.
Estimate predict(const poly::Group &group, const schedule::Schedule &schedule,
                 const Target &target);

// Of one tile of a producer's nest under its schedule, whose results stay in the block's memory. It
// lies anywhere in the whole: of taps outside the tensor it has the same share.
Estimate predict_tile(const nest::Nest &whole, const nest::Nest &tile,
                      const schedule::Schedule &schedule, const Target &target);
// Of one fill by a producer whose whole tile takes `tile` seconds, where tiles roll: of the rows
// that are computed, and of moving those that stay.
double rolled_seconds(double tile, const nest::Nest &nest, const schedule::Rolling &rolling,
                      const Target &target);
// What evaluating a pointwise producer adds to the copy of one tile that its consumer makes. One
// unit.
double map_fill_seconds(const nest::Nest &tile, const Target &target);
// Times that one run of a nest under its schedule, of all its blocks, fills an input's buffer.
double fills(const nest::Nest &nest, const schedule::Schedule &schedule, int input);

// One line per reason, with units.
std::string explain(const Estimate &estimate);

} // namespace tilefuse::cost
