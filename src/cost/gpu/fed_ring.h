// SPDX-License-Identifier: Apache-2.0
// Work and bytes that other nests of its group add to a kernel with matrix instructions: maps in the
// ring (schedule/mma/core_feeds.h), and sums of what tiles store (schedule/wgmma/tile_sums.h).
#pragma once

#include "schedule/resolved.h"

namespace tilefuse::cost {

struct FedRing {
  double issued = 0;        // instructions of warps that map, in a step of a block
  double copied_bytes = 0;  // in a step of a block
  double local_bytes = 0;   // of a block
  double memory_bytes = 0;  // of the tensors that are read, beyond those that the anchor names
  double spread_cycles = 0; // of a step whose window a copy spreads to
  double sum_cycles = 0;    // of a tile that is added up
};

// Steps that a window serves: one for each tap.
double taps_of_window(const schedule::Gemm &gemm);

// All zeros where nothing is mapped and added up. Requires a legal schedule.
FedRing fed_ring(const schedule::Resolved &resolved);

} // namespace tilefuse::cost
