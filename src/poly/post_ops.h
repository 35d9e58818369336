// SPDX-License-Identifier: Apache-2.0
// The first step of grouping: a group per nest, pointwise followers in post-ops.
#pragma once

#include <vector>

#include "poly/group.h"

namespace tilefuse::poly {

// Every statement flattened; each map fused into what feeds it, unless `fuse_maps` is false.
std::vector<PlacedGroup> group_nests(const program::StoredProgram &stored, bool fuse_maps);

} // namespace tilefuse::poly
