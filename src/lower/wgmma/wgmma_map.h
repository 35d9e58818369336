// SPDX-License-Identifier: Apache-2.0
// The warps of a kernel with wgmma that evaluate the maps of its inputs
// (schedule/mma/core_feeds.h), in the place where tensor copies leave what the maps read:
//
//   for tile { for step { wait full; for row { if inside { data = map(data, beside, shared) } }
//                         fence; arrive ready } }
//
// Two groups of them take steps in turn. Without such groups they are the producer's own.
#pragma once

#include <functional>

#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

// By the producer's warps: all windows are mapped; `before`: what precedes each, at its tile and
// depth.
using BeforeWindow = std::function<StmtRef(ExprRef tile, ExprRef depth)>;
StmtRef map_windows(Context &context, const WgmmaParts &parts, const BeforeWindow &before);

// Of all but the producer's warps: the last warpgroups map, with registers of their own, the
// others do `multiply`.
StmtRef multiply_or_map(Context &context, const WgmmaParts &parts, StmtRef multiply);

} // namespace tilefuse::lower
