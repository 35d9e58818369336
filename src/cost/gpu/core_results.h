// SPDX-License-Identifier: Apache-2.0
// What the end of a tile of matrix instructions asks besides storing its results: of the second-level
// cache where channels are no neighbours in the result, and for what post-ops read.
#pragma once

#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::cost {

// Cycles of a multiprocessor in which the sectors that a tile's results touch reach the
// second-level cache; 0 where runs of channels, which begin at multiples of them, fill them.
double scattered_cycles(const schedule::Gemm &gemm, const Target &target);

// Operands of post-ops that have an element for every result.
double whole_operands(const nest::Nest &nest);
// Bytes of them for each result.
double operand_bytes(const nest::Nest &nest);
// Operations of post-ops for each result, beyond those that the models' rates of storing were fitted
// with.
double post_slots(const nest::Nest &nest);

} // namespace tilefuse::cost
