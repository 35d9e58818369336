// SPDX-License-Identifier: Apache-2.0
// The producer of a kernel with wgmma where its four warps fill windows from what a copy reads
// (schedule/wgmma/wgmma_spread.h). What they read of a tile is under way while they write the one
// before.
//
//   read the first tile's units
//   for tile { convert units; read the next tile's; wait empty; write units; fence; arrive full }
#pragma once

#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

StmtRef spread_data(Context &context, const WgmmaParts &parts, poly::MemberId producer);

} // namespace tilefuse::lower
