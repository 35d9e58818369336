// SPDX-License-Identifier: Apache-2.0
// How groups of warps that change tiles in the ring (wgmma_transform.h) share its steps.
#pragma once

#include "lower/mma/gemm_part.h"
#include "lower/wgmma/wgmma_ring.h"

namespace tilefuse::lower {

// Two groups take steps in turn, so that one works while the other waits.
class TransformedSteps : GemmPart {
public:
  TransformedSteps(Context &context, const WgmmaRing &ring);
  // Before the first, by work-item number `item` of the role.
  StmtRef start(ExprRef item) const;
  // What a group does at each of its steps, and over those of others.
  StmtRef in_turn(StmtRef step) const;

private:
  const WgmmaRing &ring_;
  const int groups_;
  BufferId turn_{-1}; // steps until it is this group's
};

} // namespace tilefuse::lower
