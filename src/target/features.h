// SPDX-License-Identifier: Apache-2.0
// What a device's instruction set and driver offer beside arithmetic, by name. A feature is told
// from the row's backend, isa ("sm_90a", "CL1.2 sm_89") and lanes here and nowhere else: no folder
// above target/ compares the name of an architecture or of a backend.
#pragma once

#include "target/target.h"

namespace tilefuse {

enum class Feature {
  AsyncCopies,     // copies from global to local memory run beside arithmetic (cp.async)
  MatrixUnits,     // warps multiply fragments held in registers (ldmatrix, mma)
  WarpgroupMatrix, // four warps multiply matrices in local memory that tensor copies fill (wgmma)
  LaunchQueue,     // launches follow each other without the host in between
  EarlyLaunch,     // a kernel starts while the one before it ends
  PackedRounding,  // one instruction rounds two floats to a type of 16 bits
  PrefetchHints,   // an instruction asks for a line of constants ahead of its use
  EitherLanes,     // kernels with vectors and kernels with work-items both compile
};

bool has(const Target &target, Feature feature);

} // namespace tilefuse
