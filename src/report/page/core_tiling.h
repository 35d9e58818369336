// SPDX-License-Identifier: Apache-2.0
// How the tile of a block is dealt out where a matrix instruction computes it: to warps, or
// warpgroups of four with wgmma; a warp's part to instructions; an instruction's result to lanes,
// as its row of the core table says.
//
//   tile         128 points of y x  by 64 of m
//   warps        2 x 2, each        64 by 32
//   instruction  m16n8k16.f16.f32   16 by 8: lane 5 has (1, 2) (1, 3) (9, 2) (9, 3)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// Points of the pixel indices by channels.
struct TileSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  friend bool operator==(const TileSize &, const TileSize &) = default;
};

struct CoreTiling {
  std::string instruction;
  std::string rows;      // "y x": pixel indices, taken as one number
  std::string columns;   // "m": channel indices
  TileSize whole;        // of one product
  TileSize tile;         // of a block
  TileSize warp;         // of one warp or warpgroup
  TileSize atom;         // of one instruction
  TileSize atom_of_warp; // the part of it that one warp holds
  bool is_warpgroup = false;
  std::int64_t instances = 1; // groups of warps that take tiles in turn
  std::int64_t depth = 0;     // summed points of a step
  std::int64_t vec = 1;       // channels beside each other that a lane stores
  std::vector<int> lanes;     // by point of the atom, row by row
};

// Nothing where no matrix instruction computes.
std::optional<CoreTiling> core_tiling(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
