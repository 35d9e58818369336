// SPDX-License-Identifier: Apache-2.0
// What storing the results of a matrix instruction asks of the second-level cache where channels
// are no neighbours in the result.
#pragma once

#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::cost {

// Cycles of a multiprocessor in which the sectors that a tile's results touch reach the
// second-level cache; 0 where runs of channels fill them.
double scattered_cycles(const schedule::Gemm &gemm, const Target &target);

} // namespace tilefuse::cost
