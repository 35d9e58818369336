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

double peak(const schedule::Schedule &schedule, const Target &target) {
  const double scalar = target.gflops_per_unit * target.compute_units * 1e9;
  if (schedule.core.op == nullptr)
    return scalar;
  const double scalar_ops = 2.0 * target.vector_f32; // of a multiprocessor per cycle
  const auto bytes = static_cast<double>(size_bytes(schedule.core.op->a.type));
  return scalar / scalar_ops * half_ops(target) * 2 / bytes;
}

} // namespace

Roofline roofline(double operations, double bytes, const schedule::Schedule &schedule,
                  const Target &target) {
  return {operations / peak(schedule, target), bytes / (target.gbytes_per_s * 1e9)};
}

} // namespace tilefuse::cost
