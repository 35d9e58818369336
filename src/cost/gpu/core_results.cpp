// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/core_results.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/index.h"
#include "cost/expression.h"
#include "nest/index.h"
#include "nest/points.h"

namespace tilefuse::cost {
namespace {

// Neighbouring pixels that the work-items of a warp store at once.
constexpr double kPixels = 8;
// A bias, a residual and a bound.
constexpr double kPlainSlots = 6;

// Of a tensor that is read once for each result.
std::int64_t results_of(const nest::Nest &nest) { return points_of(nest, output_indices(nest)); }

// Neighbours that a work-item stores at once: as many of its vector as the result's rows let begin
// at a multiple of them.
std::int64_t aligned_run(const schedule::Gemm &gemm, const nest::Linear &out) {
  std::int64_t run = gemm.schedule.splits[at(gemm.roles.channel)].vec;
  const auto divides = [&](std::int64_t apart) { return apart % run == 0; };
  for (std::size_t i = 0; i < out.coeff.size(); ++i)
    while (run > 1 && i != at(gemm.roles.channel) && !divides(out.coeff[i]))
      run /= 2;
  while (run > 1 && !divides(out.constant))
    run /= 2;
  return run;
}

} // namespace

double operand_bytes(const nest::Nest &nest) {
  double bytes = 0;
  for (const nest::Operand &extra : nest.extras)
    if (nest.slots[extra.slot].elems >= results_of(nest))
      bytes += static_cast<double>(size_bytes(type_of(nest, extra)));
  return bytes;
}

double whole_operands(const nest::Nest &nest) {
  return static_cast<double>(
      std::count_if(nest.extras.begin(), nest.extras.end(), [&](const nest::Operand &extra) {
        return nest.slots[extra.slot].elems >= results_of(nest);
      }));
}

double post_slots(const nest::Nest &nest) {
  return std::max(0.0, expression_slots(nest.post, true) - kPlainSlots);
}

double scattered_cycles(const schedule::Gemm &gemm, const Target &target) {
  const nest::Linear out = nest::flat(gemm.nest.out, gemm.nest.indices.size());
  const double sector = target.sector_bytes;
  const double all = static_cast<double>(gemm.tile.rows * gemm.tile.columns);
  if (out.coeff[gemm.roles.channel] == 1) {
    const std::int64_t run = aligned_run(gemm, out);
    const bool is_whole = run == gemm.schedule.splits[at(gemm.roles.channel)].vec;
    return is_whole ? 0 : all / static_cast<double>(run) * sector / target.rates.l2_bytes_per_cycle;
  }
  const double size = static_cast<double>(size_bytes(type_of(gemm.nest, gemm.nest.out)));
  const double apart = size * static_cast<double>(std::llabs(out.coeff[gemm.roles.pixels.back()]));
  const double run = std::max(1.0, std::floor(sector / std::max(apart, size))); // in a sector
  return all / std::min(run, kPixels) * sector / target.rates.l2_bytes_per_cycle;
}

} // namespace tilefuse::cost
