// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.h"

namespace tilefuse::cost {
namespace {

// `scalar`: the peak without matrix units. Of elements of half the size they multiply twice as
// many.
double peak(double scalar, const schedule::Schedule &schedule, const Target &target) {
  if (schedule.core.op == nullptr)
    return scalar;
  const double scalar_ops = 2.0 * target.vector_f32; // of a multiprocessor per cycle
  const auto bytes = static_cast<double>(size_bytes(schedule.core.op->a.type));
  return scalar / scalar_ops * target.rates.matrix_half_ops_per_cycle * 2 / bytes;
}

} // namespace

Roofline roofline(double operations, double bytes, const schedule::Schedule &schedule,
                  const Target &target) {
  return roofline(operations, bytes, schedule, target, stated_ceilings(target));
}

Roofline roofline(double operations, double bytes, const schedule::Schedule &schedule,
                  const Target &target, const Ceilings &ceilings) {
  return {operations / peak(ceilings.flops_per_s, schedule, target),
          ceilings.seconds_to_move(bytes)};
}

} // namespace tilefuse::cost
