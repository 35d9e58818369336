// SPDX-License-Identifier: Apache-2.0
// Sums of what a kernel with wgmma stores (poly::TileSum), added up while its tiles are in
// registers. A tile is a part of the sum: the nest has an output index for each axis along which
// there are several tiles, and reduced indices for the points of one.
//
//   conv      pixel 401408 by tiles of 128, m 64
//   sum       t 3136, k 2, m 64 | p 128      parts[t, k, m] = sum of term(k, conv[128*t + p, m])
//
// A term may read another tensor at each pixel (a layer's input, beside the gradient of its
// normalisation). Such a tensor lies as the result does and is an operand of the anchor's post-ops,
// whether or not they read it, so that its tiles are fetched ahead (schedule/wgmma/wgmma_panels.h).
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
  // By input, the operand of post-ops that it reads at each pixel; none: it is the same at each.
  std::vector<std::optional<int>> beside;
};

// Whether a tile of the schedule can be added up as it is stored: work-items hold rows of whole
// channels then, which leave neither through local memory nor by several blocks, and tiles divide
// the result, a matrix of pixels and neighbouring channels.
bool can_sum_tiles(const Gemm &gemm);
// Axes of the tiles. Requires can_sum_tiles.
std::vector<TileAxis> tile_axes(const Gemm &gemm);

// A sum of what the nest stores, in parts that are the schedule's tiles, and the nest that joins
// them; `result` is the sum's input that is the nest's result. Nothing where there are none.
std::optional<nest::SplitNests> tile_parts(const Gemm &gemm, const nest::Nest &sum, int result);

// The nest with what a sum of its result reads at each pixel among its operands; of a new slot where
// it is none yet, of which `taken` has the sum's slot. Nothing where it lies otherwise than the result.
std::optional<nest::Nest> with_operands(const nest::Nest &nest, const nest::Nest &sum, int result,
                                        std::vector<nest::SlotId> &taken);

// Whether the parts of the group's sums are the schedule's tiles; so of a group without sums.
bool sums_are_of_tiles(const poly::Group &group, const Schedule &schedule);
// Roles of a sum's indices. Requires sums_are_of_tiles.
SumRoles sum_roles(const poly::Group &group, const Gemm &gemm, const poly::TileSum &sum);

// Whether what has been stored is written over the accumulators, to be added up: where post-ops read
// operands. Others are evaluated again, since ptxas lets instructions wait for accumulators that
// change (C7520) where groups of warps take no turns.
bool keeps_results(const Gemm &gemm);

// What a sum adds up at a point, of its inputs; nothing where it combines them in another way.
std::optional<program::Expr> term_of(const nest::Nest &sum);

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
