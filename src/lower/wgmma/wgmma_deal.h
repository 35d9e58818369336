// SPDX-License-Identifier: Apache-2.0
// Channels of a turned filter that is kept, swapped, dealt in pairs where tensor copies leave them:
//
//   for step { wait full; 32 bytes of each row: even channels, then odd ones; fence; arrive ready }
//
// by two warps of those that copy, every second step each. A straight filter comes dealt by its
// tensor map; of a turned one neighbouring channels are neighbours in memory as well.
#pragma once

#include "lower/context.h"
#include "lower/wgmma/wgmma_ring.h"

namespace tilefuse::lower {

// By work-items of the group that copies: null where the filter comes as it is read.
StmtRef deal_kept_filter(Context &context, const WgmmaRing &ring);

} // namespace tilefuse::lower
