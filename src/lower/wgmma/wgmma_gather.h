// SPDX-License-Identifier: Apache-2.0
// The producer of a kernel with wgmma where its four warps gather data (schedule/wgmma/wgmma.h):
// asynchronous copies of runs, some steps of which are under way while the next is started.
//
//   for tile { places of this work-item's runs
//     for step { wait empty; expect, copy filter; start copies
//                wait for those of some steps before; fence; arrive full } }
//   for those still under way { wait; fence; arrive full }
#pragma once

#include <functional>

#include "lower/wgmma/wgmma_parts.h"

namespace tilefuse::lower {

// `filter` starts the copy of the step at `points`, by one work-item.
using FillFilter = std::function<StmtRef(const Positions &points)>;
StmtRef gather_data(Context &context, const WgmmaParts &parts, FillFilter filter);

} // namespace tilefuse::lower
