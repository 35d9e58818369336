// SPDX-License-Identifier: Apache-2.0
// Sums of what a kernel with wgmma stores (poly::TileSum), added up while its tiles are in
// registers. A tile is a part of the sum: the nest has an output index for each axis along which
// there are several tiles, and reduced indices for the points of one.
//
//   conv      pixel 401408 by tiles of 128, m 64
//   sum       t 3136, k 2, m 64 | p 128      parts[t, k, m] = sum of term(k, conv[128*t + p, m])
//
// A work-item adds up the rows that it holds of each of its channels, for each point of `k`; lanes
// that hold the same channels exchange halves of what they have until each has sums of a warp's
// rows; and the tile's warps meet in local memory, where they are added in the order of the warps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nest/flatten/split.h"
#include "poly/group.h"
#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// How tiles cut the result's pixels: along one number of all pixels, or along each index of a box.
struct TileAxis {
  std::optional<IndexId> pixel; // of a box; none: all pixels as one number
  std::int64_t stride = 1;      // in the result, of its points
  std::int64_t points = 1;
  std::int64_t tile = 1; // points of a tile
  std::int64_t tiles() const { return points / tile; }
};

// What the indices of a sum's nest are to the tiles.
struct SumRoles {
  int result = 0; // the input that is the anchor's result
  IndexId channel{};
  std::optional<IndexId> copy;               // of which each point is a sum of its own
  std::int64_t copies = 1;                   // its points
  std::vector<std::optional<IndexId>> parts; // by axis; none: one tile
};

// Whether a tile of the schedule can be added up as it is stored: work-items hold rows of whole
// channels then, which leave neither through local memory nor by several blocks, and tiles divide
// the result, a matrix of pixels and neighbouring channels. Post-ops read no operands.
bool can_sum_tiles(const Gemm &gemm);
// Axes of the tiles. Requires can_sum_tiles.
std::vector<TileAxis> tile_axes(const Gemm &gemm);

// A sum of what the nest stores, in parts that are the schedule's tiles, and the nest that joins
// them; `result` is the sum's input that is the nest's result. Nothing where there are none.
std::optional<nest::SplitNests> tile_parts(const Gemm &gemm, const nest::Nest &sum, int result);

// Whether the parts of the group's sums are the schedule's tiles; so of a group without sums.
bool sums_are_of_tiles(const poly::Group &group, const Schedule &schedule);
// Roles of a sum's indices. Requires sums_are_of_tiles.
SumRoles sum_roles(const poly::Group &group, const Gemm &gemm, const poly::TileSum &sum);

// Whether a sum's term chooses between two, alike for all copies, by what is the same at each pixel:
// both are added up then, and each copy's sum is chosen when they have been.
bool chooses_by_copy(const nest::Nest &sum, const SumRoles &roles);

// How a tile's sums come about: channels of a work-item, rows that it holds of each, lanes (by bits
// of their numbers, the highest first) that hold rows of the same channels, and warps that do.
struct SumShares {
  std::int64_t channels = 0;
  std::int64_t rows = 0;
  std::vector<int> lanes;
  std::int64_t warps = 0;
};
SumShares sum_shares(const Gemm &gemm);
// Sums of a block that lie in local memory: those of all warps and of tiles taken in turn.
std::int64_t sum_elems(const Gemm &gemm, const SumRoles &roles);

} // namespace tilefuse::schedule
