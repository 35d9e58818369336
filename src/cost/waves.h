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

// How blocks are given to units: so many neighbouring ones at once.
struct Dealing {
  int units = 1;
  std::int64_t at_once = 1;
};

// Time until the last unit ends; `block_time` gets a kind of blocks and how many there are. Of few runs
// of blocks every unit takes a stretch and then from the end of others', many are dealt evenly with
// half a run at the end.
double makespan(const std::vector<GridDim> &grid, const Dealing &dealing,
                const std::function<double(const std::vector<bool> &, double)> &block_time);

} // namespace tilefuse::cost
