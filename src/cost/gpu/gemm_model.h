// SPDX-License-Identifier: Apache-2.0
// Time and figures of a nest that a matrix instruction computes: of mma, on multiprocessors that run
// many blocks at a time, and of wgmma, a block to each. Each requires a legal schedule.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/gpu/fed_ring.h"
#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::cost {

// What cost::figures says of it.
Figures gemm_figures(const schedule::Gemm &gemm, const Target &target);

// What cost::predict says of it; `fed`: what maps in the ring add.
Estimate predict_gemm(const schedule::Gemm &gemm, const Target &target, const FedRing &fed = {});
// What cost::demands says of it.
Demands gemm_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed = {});
// Cycles of a multiprocessor in which the sectors that a tile's results touch reach the
// second-level cache; 0 where runs of channels, which begin at multiples of them, fill them.
double scattered_cycles(const schedule::Gemm &gemm, const Target &target);
// Bytes of post-ops' operands that have an element for every result, for each result.
double operand_bytes(const nest::Nest &nest);
// Time of the products by mma for one tile of a consumer, on a target of one unit.
Estimate predict_core_tile(const schedule::Gemm &tile, const Target &unit);

} // namespace tilefuse::cost
