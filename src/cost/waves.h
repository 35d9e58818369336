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

// Time until the last of `units` ends. Dimensions are outermost first; `block_time` gets, by
// dimension, whether the block is the smaller one. Of small grids every unit takes a stretch of
// blocks and then from the end of others', large ones are dealt evenly with half a block at the
// end.
double makespan(const std::vector<GridDim> &grid, int units,
                const std::function<double(const std::vector<bool> &)> &block_time);

} // namespace tilefuse::cost
