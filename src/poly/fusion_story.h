// SPDX-License-Identifier: Apache-2.0
// How producers come to run inside the tiles of what reads them, step by step, for reading: the
// statements in time, what they ask of each other, the schedule tree as the program has it, why
// tiling both spaces does not work, what a tile of the last nest needs, the tree with an extension,
// and its loops.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "poly/isl/scop.h"
#include "poly/schedule_tree.h"

namespace tilefuse::poly {

struct StoryOptions {
  std::vector<std::string> in_place; // tensors that overwrite what they are computed from
  std::vector<std::int64_t> tile;    // of the last nest's loops; 2 of each where it is shorter
  std::int64_t quota = 10'000'000;   // isl's operations
};

// One dependence: instances of `from` that must run before instances of `to`.
struct StoryDependence {
  std::string from;
  std::string to;
  std::string pairs; // in isl's notation
};

// What tiles of the last nest need of one statement of a producer.
struct StoryProducer {
  std::string statement;
  std::vector<std::int64_t> box; // of the largest tile
  std::int64_t executed = 0;     // instances, of all tiles together
  std::int64_t distinct = 0;
  std::string extension; // tile → instances
};

// The same tile of the last nest by the tiles of the producer's own space that its data lie in.
struct StoryConflict {
  std::string tile;            // "[1, 1]"
  std::string needs;           // instances of the producer
  std::vector<std::string> in; // "[0, 0]", …
};

struct FusionStory {
  Scop scop;
  std::vector<std::int64_t> tile;
  Chosen producers;
  Chosen consumers;
  std::vector<StoryDependence> dependences;
  ScheduleTree original;
  std::vector<std::int64_t> own_tile; // of one producer, if its space were tiled too
  std::string own_tiled;              // the last statement whose tiles do not fit, or the last one
  bool tiles_fit = false; // each tile of the last nest lies in one tile of that producer
  std::vector<StoryConflict> conflicts;
  std::vector<StoryProducer> needs;
  std::string footprint;             // tile → elements that producers write
  std::vector<std::string> refusals; // the rules that forbid it
  std::vector<std::string> kept;     // producers that must run where they stood too, and why
  ScheduleTree tiled;                // only the last nest is tiled
  std::optional<ScheduleTree> fused; // where no rule forbids it
  std::vector<std::int64_t> grid;    // tiles by loop
  std::vector<std::int64_t> block;   // points of a tile by loop
  std::string loops_apart;
  std::string loops_fused;
};

// The last nest that sums, with the maps that follow it, is tiled; what stands before it produces.
// Error{Unsupported} where there is nothing before it, where loops do not match, or where the quota
// does not suffice; Error{Shape} where the tile has sizes below 1 or more of them than there are
// loops.
FusionStory tell_fusion(const program::StoredProgram &stored, const StoryOptions &options);

} // namespace tilefuse::poly
