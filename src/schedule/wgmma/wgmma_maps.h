// SPDX-License-Identifier: Apache-2.0
// The tensor maps of data and of the filter (schedule/mma/core.h).
#pragma once

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

// Of data that warps gather: none.
TileMap data_map(const Gemm &gemm);
// Of a straight filter rows are dealt, so that the last coordinate is in units of channels; of a turned
// one a tile is panels of channels. With clusters a box is what one block of those that share the
// filter copies.
TileMap filter_map(const Gemm &gemm);

} // namespace tilefuse::schedule
