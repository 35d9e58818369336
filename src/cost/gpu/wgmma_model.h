// SPDX-License-Identifier: Apache-2.0
// Time and figures of nests with matrix instructions of four warps, a block to a multiprocessor.
// Each requires a legal schedule.
#pragma once

#include <vector>

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/gpu/fed_ring.h"
#include "nest/nest.h"
#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::cost {

// What cost::figures says of one.
Figures wgmma_figures(const schedule::Gemm &gemm);

// What cost::predict says of one; `fed`: what maps in the ring add.
Estimate predict_wgmma(const schedule::Gemm &gemm, const Target &target, const FedRing &fed = {});
// What cost::demands says of one.
Demands wgmma_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed = {});

// Time of nests that are one launch and run at the same time, such as the classes of a strided
// input gradient, each under its schedule with wgmma, and of nests that store constants beside
// their results: what keeps multiprocessors busy adds up, an input that several read comes from
// memory once, and constants cost what their bytes do.
double predict_together(const std::vector<const nest::Nest *> &classes,
                        const std::vector<const schedule::Schedule *> &schedules,
                        const std::vector<const nest::Nest *> &constants, const Target &target);

} // namespace tilefuse::cost
