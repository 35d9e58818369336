// SPDX-License-Identifier: Apache-2.0
// How a kernel's result is dealt out: blocks of the whole, lanes and register copies of a block, and
// the window of an input that a block reads, along the two output indices that are cut most.
//
// Where a matrix instruction computes, the two are its pixels taken as one number and its channels,
// unless its tiles are boxes of pixels: then these indices.
//
//   y  56 in 8 blocks of 7    lane 1, 7 copies    reads 9 of 56
//   x  56 in 1 block  of 56   lane 8, 7 copies    reads 58 of 56
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "nest/nest.h"
#include "report/page/core_tiling.h"
#include "schedule/schedule.h"

namespace tilefuse::report {

// An output index as blocks see it.
struct TiledIndex {
  std::string name;
  std::int64_t extent = 1;
  schedule::Split split;   // one block of one lane where no index is left
  std::int64_t blocks = 1; // along it
  std::int64_t window = 0; // points of the input that a block reads along it; 0: does not depend
  std::int64_t input_size = 0;
  std::int64_t input_step = 1; // points of the input from one point to the next

  // Of a point of a block: the lane that computes it, and which of its copies it is.
  std::int64_t lane_of(std::int64_t point) const;
  std::int64_t copy_of(std::int64_t point) const;
};

struct Tiling {
  TiledIndex rows;
  TiledIndex columns;
  std::int64_t blocks = 1; // of the whole grid
  int input = -1;          // whose window it is; -1: none
  std::optional<CoreTiling> core = std::nullopt;
};

Tiling tiling(const nest::Nest &nest, const schedule::Schedule &schedule);

} // namespace tilefuse::report
