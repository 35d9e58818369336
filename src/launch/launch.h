// SPDX-License-Identifier: Apache-2.0
// The `launch` level: scheduled groups that are launched once, as one kernel.
//
//   launch
//   part blocks
//   buffers 4 1 9
//   group
//   …
//   schedule mma workitem
//   …
//   part dealt
//   buffers 9
//   …
//
// The first part has blocks of its own. Where the others run:
//
//   blocks     in blocks of their own behind the first part's, with as many work-items each
//   dealt      by work-items of the first part's blocks, before these do their own work or, where
//              one warp starts tensor copies, in the warps beside it, which would be idle
//   between    by whoever stores a result of the first part: constants at a fixed distance from each
//              (launch/between.h)
//   in step    in the first part's blocks, which take its tiles and theirs in turn (launch/step.h)
//   following  by the first part's work-items, each behind its own points (launch/following.h)
//
// None reads what another writes, so that any order is right. Two exceptions: parts that follow read
// what was stored at the same point; and with `join`, a second part adds up the parts of a reduction
// that the first one stores, done by the block that stores the last part of each tile
// (schedule/tile_join.h).
//
// search/network/launches.h chooses launches, lower/launch/lower_launch.h lowers them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "schedule/tile_join.h"

namespace tilefuse::launch {

enum class Place { Blocks, Dealt, Between, InStep, Following };
std::string_view to_string(Place place);

// A scheduled group in its place in a network and in its launch.
struct Part {
  poly::PlacedGroup placed;
  schedule::Schedule schedule;
  std::string chosen_by = {}; // who chose the schedule: "model", "tuned on this device", …
  Place place = Place::Blocks;
};

struct Launch {
  std::vector<Part> parts;
  std::optional<schedule::TileWalk> join = std::nullopt;
};

// Whether a part reads no inputs: it writes the zeros between pixels, say.
bool is_map(const Part &part);

// What launches that differ in their tensors alone have in common: the same with each buffer number 0.
Launch unplaced(const Launch &launch);

} // namespace tilefuse::launch
