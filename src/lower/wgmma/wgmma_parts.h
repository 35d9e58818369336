// SPDX-License-Identifier: Apache-2.0
// What the roles of a kernel with wgmma share: tiles, rings, clusters and the maps of its inputs.
#pragma once

#include <vector>

#include "lower/wgmma/wgmma_ahead.h"
#include "lower/wgmma/wgmma_cluster.h"
#include "lower/wgmma/wgmma_ring.h"
#include "lower/wgmma/wgmma_tiles.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/mma/core_roles.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::lower {

// What the roles of a kernel with wgmma share.
struct WgmmaParts {
  const schedule::CoreRoles &roles;
  const schedule::CoreTile &tile;
  const schedule::ColumnPlan &plan;
  const WgmmaCluster &cluster;
  WgmmaTiles &tiles;
  const WgmmaRing &ring;
  const WgmmaRing &data_ring;                   // of windows; else the same
  const std::vector<schedule::CoreFeed> &feeds; // maps, between the producer and what multiplies
  const WgmmaAhead *ahead;                      // what post-ops read, where warps load; or null
};

} // namespace tilefuse::lower
