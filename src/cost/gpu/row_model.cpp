// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/row_model.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "cost/expression.h"
#include "cost/footprint.h"
#include "cost/gpu/gemm_model.h"
#include "nest/index.h"
#include "poly/row_group.h"
#include "schedule/blocks.h"
#include "schedule/mma/row_products.h"

namespace tilefuse::cost {
namespace {

using schedule::Gemm;

// Of a value that stays in registers, besides its expressions: masks, converting, aggregation.
constexpr double kValueSlots = 2;

double bytes_of(const Gemm &gemm, int input) {
  const schedule::CoreSideTile side = core_side_tile(gemm.roles, gemm.tile, input);
  return static_cast<double>(side.rows * side.elems * gemm.tile.elem_bytes);
}

struct RowModel {
  const schedule::Resolved &resolved;
  const Target &target;
  const Rates &rates = target.rates;
  const Gemm &first = *resolved.gemms[poly::first_product(resolved.group)];
  const Gemm &second = *resolved.gemms[poly::kAnchor];
  const double items = static_cast<double>(group_size(resolved.schedule));
  const double cycle = 2 * target.vector_f32 / (target.gflops_per_unit * 1e9);
  const double blocks = static_cast<double>(schedule::core_blocks(second));
  const double sharers = static_cast<double>(first.core().warp_columns); // warps of a row

  double resident() const {
    std::vector<schedule::LocalBuffer> local;
    for (const auto &of_member : resolved.locals)
      local.insert(local.end(), of_member.begin(), of_member.end());
    const auto registers = static_cast<double>(row_registers(first, second));
    const double fit =
        std::min({rates.unit_registers / (registers * items),
                  static_cast<double>(target.local_bytes) / static_cast<double>(local_bytes(local)),
                  rates.unit_items / items});
    return std::min(std::max(1.0, std::floor(fit)), std::ceil(blocks / target.compute_units));
  }
  double copied() const {
    return bytes_of(first, first.roles.data) + bytes_of(first, first.roles.filter) +
           bytes_of(second, second.roles.filter);
  }
  // Cycles of a block by what is asked of the multiprocessor.
  double matrix() const {
    const auto ops = 2.0 * static_cast<double>(first.tile.rows) *
                     static_cast<double>(first.tile.columns) *
                     static_cast<double>(first.tile.depth + second.tile.columns);
    return ops / rates.mma_half_ops_per_cycle;
  }
  // Bytes of the sums of warps that share rows, which each leaves and others add.
  double parts() const {
    const auto sums = static_cast<double>(second.tile.rows * second.tile.columns *
                                          size_bytes(second.core().op->d.type));
    return sharers == 1 ? 0 : 2 * sharers * sums;
  }
  // Warps that share rows read the same data, and a part of the filters each.
  double local() const {
    const double filters =
        bytes_of(first, first.roles.filter) + bytes_of(second, second.roles.filter);
    return (copied() + bytes_of(first, first.roles.data) * sharers +
            filters * items / kCoreLanes / sharers + parts()) /
           rates.local_bytes_per_cycle_mma;
  }
  double issue() const {
    double slots = expression_slots(first.nest.post, true);
    for (const poly::MemberId m : producing_members(resolved.group)) {
      const nest::Nest &nest = member_nest(resolved.group, m);
      const bool is_term = nest.comb == program::Comb::Term;
      if (&nest != &first.nest)
        slots += kValueSlots + expression_slots(is_term ? nest.term : nest.post, !is_term);
    }
    return static_cast<double>(first.tile.rows * first.tile.columns) * slots /
           (rates.schedulers * rates.scheduler_lanes);
  }
  double l2() const { return copied() / rates.l2_bytes_per_cycle_async; }
  double stores() const {
    const double bytes = static_cast<double>(size_bytes(type_of(second.nest, second.nest.out))) +
                         operand_bytes(second.nest);
    return std::max(static_cast<double>(second.tile.rows * second.tile.columns) * bytes /
                        rates.store_bytes_per_cycle,
                    scattered_cycles(second, target));
  }
  double alone() const {
    double barriers = sharers == 1 ? 2 : 3;
    for (const poly::MemberId m : producing_members(resolved.group))
      barriers += is_statistic(resolved.group, m) ? 1 : 0;
    return rates.async_copy_latency_cycles + barriers * rates.barrier_cycles +
           rates.mma_block_cycles;
  }
  double memory() const {
    return touched_bytes(resolved.group) / (rates.mma_memory_share * target.gbytes_per_s * 1e9);
  }
  double waves() const { return std::ceil(blocks / (resident() * target.compute_units)); }
  // Warps of a block wait for each other between what it does, those of others do not.
  double wave_cycles() const {
    const double busy = resident() * (matrix() + issue());
    return std::max({busy, resident() * local(), resident() * l2()}) + resident() * stores() +
           alone();
  }
};

} // namespace

Estimate predict_rows(const schedule::Resolved &resolved, const Target &target) {
  const RowModel model{resolved, target};
  Estimate estimate;
  estimate.blocks = schedule::core_blocks(model.second);
  estimate.launch = target.launch_us * 1e-6;
  estimate.memory = model.memory();
  const double wave = model.wave_cycles() * model.cycle;
  estimate.compute = wave / model.resident();
  estimate.waves = model.waves() * model.resident() * target.compute_units / model.blocks;
  estimate.seconds = std::max(model.waves() * wave, estimate.memory) + estimate.launch;
  estimate.reasons = {
      {"registers", static_cast<double>(row_registers(model.first, model.second)), "per work-item"},
      {"resident blocks", model.resident(), "per multiprocessor"},
      {"matrix units", model.matrix(), "cycles of a block"},
      {"maps and statistics", model.issue(), "cycles of a block"},
      {"local memory", model.local(), "cycles of a block"},
      {"second-level cache", model.l2(), "cycles of a block"},
      {"stores", model.stores(), "cycles of a block"},
      {"wave", wave * 1e6, "us"},
      {"waves", model.waves(), ""},
      {"memory", estimate.memory * 1e6, "us"},
      {"launch", target.launch_us, "us"}};
  return estimate;
}

Demands row_demands(const schedule::Resolved &resolved, const Target &target) {
  const RowModel model{resolved, target};
  const double all = model.waves() * model.resident() * model.cycle;
  return {{"matrix units", all * model.matrix()},
          {"instruction issue", all * model.issue()},
          {"local memory", all * model.local()},
          {"second-level cache", all * model.l2()},
          {"stores", all * model.stores()},
          {"latency of copies and barriers", model.waves() * model.cycle * model.alone()},
          {"memory", model.memory()},
          {"launch", target.launch_us * 1e-6}};
}

} // namespace tilefuse::cost
