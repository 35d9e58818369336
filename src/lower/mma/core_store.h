// SPDX-License-Identifier: Apache-2.0
// The end of a kernel with a core instruction (schedule/mma/core.h): post-ops and stores of
// neighbouring channels, straight from the accumulators or exchanged through local memory.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// What a warp has computed: `acc` holds tiles of 16 x 8 results, those of a row of tiles one after
// another.
struct CoreWarp {
  BufferId acc{-1};
  ExprRef item{};         // of the warp
  ExprRef number{};       // of the warp, in the block
  ExprRef first_row{};    // pixel of its first result
  ExprRef first_column{}; // channel of its first result
};

StmtRef store_core(Context &context, const CoreWarp &warp);

} // namespace tilefuse::lower
