// SPDX-License-Identifier: Apache-2.0
// The first pass of lowering where the schedule has a core instruction (schedule/mma/core.h):
//
//   places of this work-item's copies, worked out once
//   fill ring - 1 buffers
//   for step in 0..steps {
//     wait for the oldest copies; evaluate maps on them (lower/mma/core_map.h); barrier
//     start the copies of step + ring - 1
//     ldmatrix and mma on the oldest buffer
//     store what this work-item gathered meanwhile, where it does
//   }
//   post-ops and stores of neighbouring channels (lower/mma/tile_store.h)
//
// A buffer is filled anew one step after it was read, so the one barrier of a step keeps both
// apart. The walk over depth and taps is a counter per index: nothing is divided in the loop.
//
// As a producer (lower/simt/fill_produce.h) it does the same for a tile of its nest, and its
// results go to the staging buffer of what reads them.
#pragma once

#include "kernel/nodes.h"
#include "lower/context.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

kernel::Kernel build_core(const poly::Group &group, const schedule::Schedule &schedule,
                          const Target &target);

// What block number `number` of the member's own schedule does.
StmtRef core_product(const Context &member, ExprRef number);

} // namespace tilefuse::lower
