// SPDX-License-Identifier: Apache-2.0
// Tiles whose pixels are a box of the pixel indices (schedule/wgmma/wgmma.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Pixels of a tile as a box: indices slowest first, and how many points of each.
struct PixelBox {
  std::vector<IndexId> indices;
  std::vector<std::int64_t> sizes;
};
bool has_box(const Gemm &gemm);
PixelBox pixel_box(const Gemm &gemm);

// Which of a row's pixels a tap reads first is this, by the remainder of `step`, so that copies
// start where pixels do that none steps over; nothing where it is always the first.
std::optional<nest::Linear> first_of_row(const Gemm &gemm);

} // namespace tilefuse::schedule
