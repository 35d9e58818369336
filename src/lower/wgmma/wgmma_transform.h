// SPDX-License-Identifier: Apache-2.0
// The warps of a kernel with wgmma that change tiles in the ring, between those that copy and those
// that multiply: they evaluate maps (wgmma_map.h), or turn what lies by the wrong index.
//
//   for tile { for step { wait full; change the buffer; fence; arrive ready } }
//
// Panels that lie turned, of 32 points of the depth by 32 channels or pixels of 4 bytes, become as many
// rows of the depth in the place where tensor copies leave them. A warp turns a panel by squares of 4 x
// 4 elements: a work-item loads 4 chunks of 16 bytes and stores 4, and the chunks of 8 neighbouring
// work-items lie in banks of their own both times. Beside fragments of the other input in registers
// (wgmma_fragments.h) points are dealt: a chunk then holds every second one of 8.
#pragma once

#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

// Of all but the producer's warps: the last warpgroups transform, with registers of their own, the
// others do `multiply`.
StmtRef multiply_or_transform(Context &context, const WgmmaParts &parts, StmtRef multiply);

} // namespace tilefuse::lower
