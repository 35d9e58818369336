// SPDX-License-Identifier: Apache-2.0
#include "cost/roofline.h"

#include <string_view>

namespace tilefuse::cost {
namespace {

// Operations on 16-bit elements per cycle of one multiprocessor, dense (NVIDIA's H100 and A100
// white papers, tables of peak rates); elements of half the size are twice as many.
double half_ops(const Target &target) {
  return std::string_view(target.isa).starts_with("sm_90") ? 4096 : 2048;
}

// `scalar`: the peak without matrix units.
double peak(double scalar, const schedule::Schedule &schedule, const Target &target) {
  if (schedule.core.op == nullptr)
    return scalar;
  const double scalar_ops = 2.0 * target.vector_f32; // of a multiprocessor per cycle
  const auto bytes = static_cast<double>(size_bytes(schedule.core.op->a.type));
  return scalar / scalar_ops * half_ops(target) * 2 / bytes;
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
