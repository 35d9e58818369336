// SPDX-License-Identifier: Apache-2.0
// What the members of a group run for the tiles of its anchor, in closed form: a tile of the anchor
// asks for a box of its staged tensors, that box of its producer asks for boxes in turn.
#pragma once

#include <cstdint>

#include "poly/group.h"

namespace tilefuse::poly {

// Of one member, in output points.
struct MemberNeeds {
  Indexed<IndexId, std::int64_t> box; // extents of the largest tile, of output indices
  double executed = 0;                // by all tiles together
  double distinct = 0;                // of these, different ones
  double recomputed() const { return distinct > 0 ? executed / distinct : 1; }
};

// For tiles of `tile` points, of output indices of the anchor. Reduced indices run whole.
// Where one index of a producer follows several of the anchor, `executed` is an upper bound.
Indexed<MemberId, MemberNeeds> needs(const Group &group,
                                     const Indexed<IndexId, std::int64_t> &tile);

} // namespace tilefuse::poly
