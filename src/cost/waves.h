// SPDX-License-Identifier: Apache-2.0
// How long units that take blocks one after another need for a grid whose last blocks along an
// index are smaller than the others.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tilefuse::cost {

struct GridDim {
  std::int64_t blocks = 1;
  bool has_edge = false; // the last block is smaller
};

// Visits the kinds of blocks of a grid, with how many there are, which may be none: by dimension,
// outermost first, whether the block is the smaller one. Kinds are in the order of the binary number
// whose digits are the dimensions with an edge.
void for_each_kind(const std::vector<GridDim> &grid,
                   const std::function<void(const std::vector<bool> &, double)> &visit);

// Time until the last of `units` ends; `block_time` gets a kind of blocks and how many there are.
// Of small grids every unit takes a stretch of blocks and then from the end of others', large ones
// are dealt evenly with half a block at the end.
double makespan(const std::vector<GridDim> &grid, int units,
                const std::function<double(const std::vector<bool> &, double)> &block_time);

} // namespace tilefuse::cost
