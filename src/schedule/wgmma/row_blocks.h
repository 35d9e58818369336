// SPDX-License-Identifier: Apache-2.0
// Rows of the ring that hold neighbouring pixels of channels in blocks (schedule/wgmma/wgmma.h).
#pragma once

#include <cstdint>
#include <optional>

#include "schedule/mma/core_roles.h"

namespace tilefuse::schedule {

// Neighbouring pixels of a row of the ring.
struct RowBlocks {
  std::int64_t held = 1; // pixels that a row holds
  std::int64_t used = 1; // pixels that one tap reads of them
  std::int64_t step = 1; // distance between those, in pixels
};
RowBlocks row_blocks(const nest::Nest &nest, const Schedule &schedule, const CoreRoles &roles);

// Whether each block of the depth has rows of its own in the ring: where tensor copies bring them.
bool in_panels(const CoreRoles &roles, const Schedule &schedule);
// Whether rows of the ring are neighbouring pixels' blocks; a window's are one pixel's each.
bool in_rows(const CoreRoles &roles, const Schedule &schedule);

// Dimension of the operand that the index moves; null where none is.
const nest::Dim *dim_of(const nest::Operand &operand, IndexId index);
// Blocks of channels from one subscript of the dimension to the next.
std::int64_t blocks_apart(const nest::Dim &dim, std::int64_t block);
// The pixel index that moves data of channels in blocks by the fewest blocks, if one does.
std::optional<IndexId> neighbour_of(const nest::Nest &nest, const CoreRoles &roles);

} // namespace tilefuse::schedule
