// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/core_rates.h"

#include <algorithm>

#include "target/dot_lanes.h"

namespace tilefuse::cost {

CoreRates core_rates(const Target &target) {
  CoreRates rates;
  const double flops_per_cycle = 2.0 * std::max(1, target.vector_f32) * rates.fma_per_cycle;
  rates.hertz = target.gflops_per_unit * 1e9 / flops_per_cycle;
  return rates;
}

double dots_per_cycle(const Target &target, const DotOp &op) {
  const double ops = 2.0 * op.products * op.rows * op.groups * std::max(1, most_lanes(target, op));
  return find_dot(target, op)->gops_per_unit * 1e9 / ops / core_rates(target).hertz;
}

} // namespace tilefuse::cost
