// SPDX-License-Identifier: Apache-2.0
// The work-item of a block with wgmma that fills the ring, or one for each of two rings: tensor
// maps of both inputs, and a loop over the block's tiles, taps and depth that waits for an empty
// buffer, says what bytes will come, and starts the copies. Of tiles that blocks of a cluster share
// it copies a slice, to all. What it copies of a fixed filter into buffers that nothing was in yet
// comes before it awaits earlier kernels. In place of an input that a map feeds it copies what the
// map reads (lower/wgmma/wgmma_map.h); where no warpgroups transform its warps map as well, and windows are
// copied between those that are mapped.
#pragma once

#include "lower/context.h"
#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

StmtRef produce_wgmma(Context &context, const WgmmaParts &parts);

} // namespace tilefuse::lower
