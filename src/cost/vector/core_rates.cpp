// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/core_rates.h"

#include <algorithm>

namespace tilefuse::cost {

CoreRates core_rates(const Target &target) {
  CoreRates rates;
  const double flops_per_cycle = 2.0 * std::max(1, target.vector_f32) * rates.fma_per_cycle;
  rates.hertz = target.gflops_per_unit * 1e9 / flops_per_cycle;
  return rates;
}

} // namespace tilefuse::cost
