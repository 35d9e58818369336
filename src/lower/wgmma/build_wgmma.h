// SPDX-License-Identifier: Apache-2.0
// A schedule with a core instruction of four warps (schedule/mma/core.h) as a kernel:
//
//   mbarriers of each buffer of the ring: full (a copy of both tiles), empty (each warp's read)
//   if lane < 128 { for tile { for taps, depth { wait empty; expect full; copy data, filter } } }
//   else { for tile { for step { wait full; wgmma …; let go of the buffer before } store } }
//
// Where maps feed inputs, further groups of warps evaluate them in between
// (lower/wgmma/wgmma_map.h), and a third mbarrier of each buffer (ready) is waited for as well.
//
// Where warps gather data, all four of the producer's fill each buffer beside the tensor copies of
// the filter (lower/wgmma/wgmma_loads.h).
//
// Where taps read windows of data, these have a ring of their own, which another warp fills:
//
//   if lane == 32 { for tile { for depth { wait empty; expect full; copy window } } }
//   … { for tile { for depth { wait window; for taps { wait full; wgmma … of it } } store } }
//
// In a cluster a block fills buffers of several blocks: it waits until all of them have let go, and
// ends when all have, so that none copies into or arrives at a block that is no more.
#pragma once

#include "kernel/nodes.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

struct WgmmaKernel {
  kernel::Kernel kernel;
  kernel::BufferId place{-1}; // registers: at which buffer of the ring who multiplies stands
};

WgmmaKernel build_wgmma(const poly::Group &group, const schedule::Schedule &schedule,
                        const Target &target);

} // namespace tilefuse::lower
