// SPDX-License-Identifier: Apache-2.0
// Time and figures of nests with matrix instructions of four warps, a block to a multiprocessor: of
// gemm_model.h.
#pragma once

#include "cost/demand.h"
#include "cost/estimate.h"
#include "cost/gpu/fed_ring.h"
#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::cost {

Figures wgmma_figures(const schedule::Gemm &gemm);
Estimate predict_wgmma(const schedule::Gemm &gemm, const Target &target, const FedRing &fed);
Demands wgmma_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed);

} // namespace tilefuse::cost
