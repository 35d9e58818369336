// SPDX-License-Identifier: Apache-2.0
// Tiles whose pixels are a box of the pixel indices (schedule/mma/core.h), the tiled tensor map
// that copies one, and the rows of the ring that it fills.
#pragma once

#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"

namespace tilefuse::schedule {

// Pixels of a tile as a box: indices slowest first, and how many points of each.
struct PixelBox {
  std::vector<IndexId> indices;
  std::vector<std::int64_t> sizes;

  std::int64_t points() const {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  }
};
// Whether the tiles of the schedule are boxes of pixels.
bool has_box(const Gemm &gemm);
// The box. Requires has_box.
PixelBox pixel_box(const Gemm &gemm);

// Position, along the neighbouring pixels, at which a tap begins to read. The rows of the ring hold
// those that a stride of `step` (gemm.row) skips as well, and copies begin at multiples of `step`:
// the remainder of this position modulo `step` is the pixel of a row that the tap reads first.
// Nothing where that is always pixel 0.
std::optional<nest::Linear> first_of_row(const Gemm &gemm);

// The map of that box, or of a window of all that taps read of it.
TileMap box_map(const Gemm &gemm);

// Of a row of data in the ring as copies leave it: the depth's, or that of neighbouring pixels'
// blocks.
std::int64_t ring_row_bytes(const Gemm &gemm);

} // namespace tilefuse::schedule
