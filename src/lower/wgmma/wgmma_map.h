// SPDX-License-Identifier: Apache-2.0
// The warps of a kernel with wgmma that evaluate the maps of its inputs
// (schedule/mma/core_feeds.h), in the place where tensor copies leave what the maps read:
//
//   for tile { for step { wait full; for row { if inside { data = map(data, beside, shared) } }
//                         fence; arrive ready } }
//
// Without warps of the transform role (wgmma_transform.h) they are the producer's own.
#pragma once

#include <functional>

#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

// By the producer's warps: all windows are mapped; `before`: what precedes each, at its tile and
// depth.
using BeforeWindow = std::function<StmtRef(ExprRef tile, ExprRef depth)>;
StmtRef map_windows(Context &context, const WgmmaParts &parts, const BeforeWindow &before);

// By the warps of the transform role, of which this is work-item number `item`: all steps of all
// tiles.
StmtRef map_tiles(Context &context, const WgmmaParts &parts, ExprRef item);

} // namespace tilefuse::lower
