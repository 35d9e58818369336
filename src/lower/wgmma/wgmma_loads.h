// SPDX-License-Identifier: Apache-2.0
// What warps of the role that loads do besides starting tensor copies (schedule/mma/core.h).
//
// They gather data: asynchronous copies of runs, some steps of which are under way while the next is
// started.
//
//   for tile { places of this work-item's runs
//     for step { wait empty; expect, copy filter; start copies
//                wait for those of some steps before; fence; arrive full } }
//   for those still under way { wait; fence; arrive full }
//
// They fill windows from what a copy reads (schedule/wgmma/wgmma_spread.h). What they read of a tile is
// under way while they write the one before.
//
//   read the first tile's units
//   for tile { convert units; read the next tile's; wait empty; write units; fence; arrive full }
//
// They deal channels of a turned filter that is kept, swapped, in pairs where tensor copies leave them,
// two warps, every second step each. A straight filter comes dealt by its tensor map; of a turned one
// neighbouring channels are neighbours in memory as well.
//
//   for step { wait full; 32 bytes of each row: even channels, then odd ones; fence; arrive ready }
#pragma once

#include <functional>

#include "lower/context.h"
#include "lower/wgmma/wgmma_parts.h"
#include "lower/wgmma/wgmma_ring.h"

namespace tilefuse::lower {

// Data of all the block's tiles, by the group of warps; `filter` starts the copy of the step at
// `points`, by one work-item.
using FillFilter = std::function<StmtRef(const Positions &points)>;
StmtRef gather_data(Context &context, const WgmmaParts &parts, FillFilter filter);

// Windows of all the block's tiles, from what `producer` copies.
StmtRef spread_data(Context &context, const WgmmaParts &parts, poly::MemberId producer);

// By work-items of the group that copies: null where the filter comes as it is read.
StmtRef deal_kept_filter(Context &context, const WgmmaRing &ring);

} // namespace tilefuse::lower
