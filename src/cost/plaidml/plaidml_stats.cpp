// SPDX-License-Identifier: Apache-2.0
#include "cost/plaidml/plaidml_stats.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "cost/plaidml/plaidml_layout.h"
#include "cost/plaidml/plaidml_threads.h"
#include "nest/integer/checked.h"

namespace tilefuse::cost::plaidml {
namespace {

using nest::checked_add;
using nest::checked_mul;

void count_points(Stats &stats, const Flat &flat, const Tile &tile) {
  const std::int64_t per_point = flat.post_ops + (flat.is_contraction ? 2 : 0);
  stats.true_ops = checked_mul(per_point, flat.accesses[0].vector);
  stats.work_groups = 1;
  stats.inner_loops = 1;
  for (std::size_t i = 0; i < flat.rank(); ++i) {
    stats.true_ops = checked_mul(stats.true_ops, flat.ranges[i]);
    std::int64_t &tiles = flat.is_output(i) ? stats.work_groups : stats.inner_loops;
    tiles = checked_mul(tiles, ceil_div(flat.ranges[i], tile[i]));
  }
}

void count_inputs(Stats &stats, const Flat &flat, const Tile &tile, const Settings &settings) {
  for (std::size_t a = 1; a < flat.accesses.size(); ++a) {
    const Access &access = flat.accesses[a];
    const std::int64_t line = settings.mem_width / access.bytes();
    if (line == 0)
      throw Error(ErrorCode::Limit,
                  fmt::format("a memory access of {} bytes does not hold an element of {} bytes",
                              settings.mem_width, access.bytes()));
    const SharedLayout layout = shared_layout(access, tile, line);
    stats.mem_read =
        checked_add(stats.mem_read, checked_mul(loads(layout, line), settings.mem_width));
    if (!settings.use_global)
      stats.shared_mem = checked_add(stats.shared_mem, checked_mul(layout.elems, access.bytes()));
  }
}

void count_threads(Stats &stats, const Flat &flat, const Tile &tile, const Settings &settings) {
  std::int64_t results = 1;
  std::int64_t points = 1;
  for (std::size_t i = 0; i < flat.rank(); ++i) {
    points = checked_mul(points, tile[i]);
    results = checked_mul(results, flat.is_output(i) ? tile[i] : 1);
  }
  stats.operations = std::min(settings.threads, points);
  if (results < stats.operations)
    stats.shared_mem = checked_add(stats.shared_mem, settings.threads * flat.accesses[0].bytes());
  for (; results < stats.operations; results *= 2)
    ++stats.rollups;
}

} // namespace

Stats statistics(const Flat &flat, const Tile &tile, const Settings &settings) {
  const Access &out = flat.accesses[0];
  const OutputPlan plan =
      output_plan(flat, tile, settings.threads, settings.mem_width / out.bytes());
  Stats stats;
  count_points(stats, flat, tile);
  count_inputs(stats, flat, tile, settings);
  count_threads(stats, flat, tile, settings);
  for (const Access &input : flat.post_inputs)
    stats.mem_read = checked_add(stats.mem_read, checked_mul(plan.lines, input.element_bytes));
  stats.out_regs = checked_mul(checked_mul(plan.accumulators, settings.threads), out.bytes());
  stats.mem_write = checked_mul(checked_mul(plan.lines, settings.mem_width), flat.kernel_outputs);
  stats.threads_used = std::max(stats.operations, plan.threads());
  return stats;
}

Score score(const Stats &stats, const Settings &settings) {
  Score result;
  if (stats.shared_mem > settings.max_mem || stats.out_regs > settings.max_regs) {
    result.verdict = stats.shared_mem > settings.max_mem ? Verdict::OverMemory : Verdict::OverRegs;
    return result;
  }
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t per_group =
      checked_add(checked_mul(stats.inner_loops, stats.mem_read), stats.mem_write);
  const auto bytes = static_cast<double>(static_cast<__int128>(stats.work_groups) * per_group);
  const double goal = real(settings.goal_flops_per_byte);
  result.flops_per_byte = real(stats.true_ops) / bytes;
  result.occupancy = real(std::min(stats.work_groups, settings.goal_groups));
  result.roof_ratio = std::min(result.flops_per_byte, goal) / goal;
  result.occ_ratio = result.occupancy / real(settings.goal_groups);
  result.thread_ratio = real(stats.threads_used) / real(settings.threads);
  result.score = result.roof_ratio * result.occ_ratio * result.thread_ratio;
  return result;
}

std::string to_text(const Tile &tile) { return fmt::format("[{}]", fmt::join(tile, ", ")); }

std::string log_text(const Tile &tile, const Stats &s, const Score &score) {
  std::string text =
      fmt::format("Computing cost for tile size: {}\n"
                  "  Compute score: to={} wg={} il={} sm={} or={} mr={} mw={} op={} rp={} tu={}\n",
                  to_text(tile), s.true_ops, s.work_groups, s.inner_loops, s.shared_mem, s.out_regs,
                  s.mem_read, s.mem_write, s.operations, s.rollups, s.threads_used);
  if (score.verdict == Verdict::OverMemory)
    return text + "  over memory\n";
  if (score.verdict == Verdict::OverRegs)
    return text + "  over regs\n";
  return text + fmt::format("  flops_per_byte={:g} occupancy={:g}\n"
                            "  roof_ratio={:g} occ_ratio={:g} thread_ratio={:g} score={:g}\n",
                            score.flops_per_byte, score.occupancy, score.roof_ratio,
                            score.occ_ratio, score.thread_ratio, score.score);
}

} // namespace tilefuse::cost::plaidml
