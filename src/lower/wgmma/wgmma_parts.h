// SPDX-License-Identifier: Apache-2.0
// What the roles of a kernel with wgmma share: tiles, and rings.
#pragma once

#include "lower/wgmma/wgmma_panels.h"
#include "lower/wgmma/wgmma_ring.h"
#include "lower/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

struct WgmmaParts {
  WgmmaTiles &tiles;
  const WgmmaRing &ring;
  const WgmmaRing &data_ring; // of windows; else the same
  const WgmmaAhead *ahead;    // what post-ops read, where warps load; or null
};

} // namespace tilefuse::lower
