// SPDX-License-Identifier: Apache-2.0
// Tiles whose pixels are a box of the pixel indices, and rows of the ring that hold neighbouring
// pixels of channels in blocks (wgmma.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/mma/core_roles.h"

namespace tilefuse::schedule {

// Pixels of a tile as a box: indices slowest first, and how many points of each.
struct PixelBox {
  std::vector<int> indices;
  std::vector<std::int64_t> sizes;
};
bool has_box(const nest::Nest &nest, const Schedule &schedule);
PixelBox pixel_box(const nest::Nest &nest, const Schedule &schedule);
// Whether each block of the depth has rows of its own in the ring: where tensor copies bring them.
bool in_panels(const CoreRoles &roles, const Schedule &schedule);
// Of channels in blocks: the neighbouring pixels of a row of the ring, and those that are used,
// each so many from the next.
struct RowBlocks {
  std::int64_t held = 1;
  std::int64_t used = 1;
  std::int64_t step = 1;
};
RowBlocks row_blocks(const nest::Nest &nest, const Schedule &schedule);

// Dimension of the operand that the index moves; null where none is.
const nest::Dim *dim_of(const nest::Operand &operand, int index);
// Blocks of channels from one subscript of the dimension to the next.
std::int64_t blocks_apart(const nest::Dim &dim, std::int64_t block);
// The pixel index that moves data of channels in blocks by the fewest blocks, or -1.
int neighbour_of(const nest::Nest &nest, const CoreRoles &roles);
// Whether rows of the ring are neighbouring pixels' blocks; a window's are one pixel's each.
bool in_rows(const CoreRoles &roles, const Schedule &schedule);
// Which of a row's pixels a tap reads first is this, by the remainder of `step`, so that copies
// start where pixels do that none steps over; nothing where it is always the first.
std::optional<nest::Linear> first_of_row(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
