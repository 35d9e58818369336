// SPDX-License-Identifier: Apache-2.0
// The first step of grouping: a group per nest, pointwise followers in post-ops.
#pragma once

#include <vector>

#include "poly/group.h"

namespace tilefuse::poly {

// Operations, casts and leaves of the largest post-op that fusion makes.
inline constexpr int kMaxPostNodes = 256;
// Every statement flattened; each map fused into what feeds it, unless `fuse_maps` is false or the
// post-op would grow past kMaxPostNodes.
std::vector<PlacedGroup> group_nests(const program::StoredProgram &stored, bool fuse_maps);

// Flattens every statement and fuses each map into the contraction or map that feeds it, into each
// of its pieces, when it is the only reader of that result and has its shape. Groups come in an
// order in which they can run.
std::vector<PlacedGroup> make_groups(const program::StoredProgram &stored);

} // namespace tilefuse::poly
