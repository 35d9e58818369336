// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/gemm_model.h"

#include "cost/gpu/core_model.h"
#include "cost/gpu/wgmma_model.h"

namespace tilefuse::cost {

Figures gemm_figures(const schedule::Gemm &gemm, const Target &target) {
  return is_wgmma(*gemm.core().op) ? wgmma_figures(gemm) : core_figures(gemm, target);
}

Estimate predict_gemm(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return is_wgmma(*gemm.core().op) ? predict_wgmma(gemm, target, fed)
                                   : predict_core(gemm, target, fed);
}

Demands gemm_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return is_wgmma(*gemm.core().op) ? wgmma_demands(gemm, target, fed)
                                   : core_demands(gemm, target, fed);
}

} // namespace tilefuse::cost
