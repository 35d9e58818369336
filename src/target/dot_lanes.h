// SPDX-License-Identifier: Apache-2.0
// How long vectors of a dot product's sums may be: OpenCL C ends at 16 elements, and the operands
// have several for each sum.
#pragma once

#include "target/target.h"

namespace tilefuse {

// Lanes of the longest vector of sums: those of the target, or as many as its language has elements
// for in vectors of the operands.
int most_lanes(const Target &target, const DotOp &op);

} // namespace tilefuse
