// SPDX-License-Identifier: Apache-2.0
// Time and figures of a nest that a matrix instruction computes, whichever instruction it is. Each
// requires a legal schedule.
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

} // namespace tilefuse::cost
