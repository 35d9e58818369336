// SPDX-License-Identifier: Apache-2.0
// The parts of a split reduction (nest/flatten/split.h) joined in the launch that computes them: a
// block stores its part of a tile of the result and counts itself in; the one that finds all others
// there joins the tile's parts, in their fixed order, and does the post-ops.
//
// A block of the partial nest computes one part of one tile: `digits` take its number apart. The
// join is a schedule of the joining nest whose blocks fill tiles: `blocks` of them along each
// output index. Points of pixels that a matrix instruction takes as one number are one index of
// that nest; it has the same slots.
//
//   partial: part 8, row 2 x 128, column 4 x 64    digits column 4, row 2, part 8
//   join:    row 256 by 8, column 256 by 64 | part 8                       blocks 16, 1
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Of a block's number: which tile along an output index of the join, or, of none, which part.
struct TileDigit {
  std::optional<IndexId> index = std::nullopt;
  std::int64_t count = 1;
  friend bool operator==(const TileDigit &, const TileDigit &) = default;
};

struct TileWalk {
  std::vector<TileDigit> digits;         // fastest first
  Indexed<IndexId, std::int64_t> blocks; // of the join in a tile, by its output index
  Indexed<IndexId, std::int64_t> grid;   // all of them, the last index fastest
  std::int64_t first_item = 0;           // of a block's work-items, that joins; those before do not
  std::int64_t tiles() const;
  std::int64_t parts() const;
  friend bool operator==(const TileWalk &, const TileWalk &) = default;
};

struct TileJoin {
  std::string refusal; // why there is none; the rest holds if empty
  nest::Nest nest;
  Schedule schedule;
  TileWalk walk;
};

// `join` has the partial nest's output indices behind the parts, and the parts reduced
// (nest::split_reduction by tiles). Requires a legal schedule of the partial nest.
TileJoin tile_join(const nest::Nest &partial, const Schedule &schedule, const nest::Nest &join,
                   const Target &target);

} // namespace tilefuse::schedule
