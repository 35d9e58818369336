// SPDX-License-Identifier: Apache-2.0
// A kernel that stores parts of a reduction and the one that joins them, as one that is launched
// once (schedule/tile_join.h): each block takes a ticket of its tile behind its last store, and the
// block that takes the last joins the tile. Its count is back at 0 then. The parts are joined in
// the join's own order, whichever block comes last.
//
//   { the partial kernel }
//   barrier
//   if lane == 0 { ticket found[0] = arrived[tile] }
//   barrier
//   if found[0] == 7 {
//     if lane == 0 { arrived[tile] = 0 }
//     for item in lane..1024 step 256 { the join, `item` its block and work-item in the tile }
//   }
#pragma once

#include "lower/launch/side_parts.h"
#include "schedule/tile_join.h"

namespace tilefuse::lower {

// `parts` are the partial kernel and the join's, which can be dealt (lower/launch/side_by_side.h).
kernel::Kernel join_last(const std::vector<SidePart> &parts, const schedule::TileWalk &walk);

} // namespace tilefuse::lower
