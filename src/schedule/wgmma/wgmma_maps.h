// SPDX-License-Identifier: Apache-2.0
// The tensor maps of data and of the filter (schedule/mma/core.h).
#pragma once

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

// Of data that warps gather: none.
DataMap data_map(const Gemm &gemm);
// Of a filter beside data that is turned as well.
DataMap turned_filter_map(const Gemm &gemm);

// How copies of the tiles of a filter beside straight data address it: the first coordinate is a
// linear function of reduced indices, and of the channel if the filter is turned; the last is in
// units of `unit` channels, or of the depth if turned. With clusters the box is what one block of
// those that share the filter copies.
struct FilterMap : TensorMap {
  nest::Linear first;
  nest::Linear parts; // channels before a part's first
  std::int64_t unit = 1;
  std::int64_t panels = 1; // boxes of a tile
};
FilterMap filter_map(const Gemm &gemm);

} // namespace tilefuse::schedule
