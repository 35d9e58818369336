// SPDX-License-Identifier: Apache-2.0
// Time of schedules with mma: blocks that share a multiprocessor overlap their
// matrix units, the path from the second-level cache, local memory and the latency of copies. With
// rates fitted to 354 times of an H200, schedules from the best to the 12th by an older model,
// ResNet-50's layers at batch 1, 32 and 256: mean error 6 %, the choice 1 % above the fastest
// timed.
#include "cost/gpu/gemm_model.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "cost/footprint.h"
#include "cost/gpu/core_results.h"
#include "cost/gpu/wgmma_model.h"
#include "schedule/blocks.h"
#include "schedule/local_memory.h"
#include "schedule/wgmma/wgmma_registers.h"

namespace tilefuse::cost {
namespace {

// Registers besides accumulators, fragments and places of copies; of a copy's places.
constexpr double kSpareRegisters = 40;
constexpr double kPlaceRegisters = 3;
// Cycles that a warp issues for a load of one element each, with what tests, converts and stores
// it.
constexpr double kGatherCycles = 2;

struct CoreModel {
  const schedule::Gemm &gemm;
  const Target &target;
  const FedRing fed = {};
  const Rates &rates = target.rates;
  const schedule::CoreTile &tile = gemm.tile;
  const bool gathers = core_gathers(gemm, gemm.roles.data);
  const double items = static_cast<double>(group_size(gemm.schedule));
  const double cycle = 2 * target.vector_f32 / (target.gflops_per_unit * 1e9);
  // Cycles of a step by what could bound it, of all resident blocks at once.
  struct Step {
    double matrix = 0;
    double l2 = 0;
    double local = 0;
    double latency = 0;
    double beside = 0; // what the warps issue besides
  };

  double registers() const {
    const double accumulators = static_cast<double>(tile.rows * tile.columns) / items;
    const double fragments =
        static_cast<double>(tile.warp_rows) / 4 + static_cast<double>(tile.warp_columns) / 4;
    const double copies =
        static_cast<double>((tile.rows + tile.columns) * tile.row_bytes()) / 16 / items;
    return accumulators + fragments + kPlaceRegisters * copies + kSpareRegisters;
  }

  double resident() const {
    const double bytes = static_cast<double>(local_bytes(local_buffers(gemm))) + fed.local_bytes;
    const double by_registers =
        rates.unit_registers / (std::min(registers(), rates.item_registers) * items);
    const double by_local = static_cast<double>(target.local_bytes) / bytes;
    return std::max(1.0, std::floor(std::min({by_registers, by_local, rates.unit_items / items})));
  }

  // Data that comes element by element, by a warp's load each.
  double gather_cycles() const {
    return gathers ? static_cast<double>(tile.rows * tile.depth) / kCoreLanes * kGatherCycles : 0;
  }

  Step step(double resident) const {
    const double ops = 2 * static_cast<double>(tile.rows * tile.columns * tile.depth);
    const double rate = rates.mma_half_ops_per_cycle * 2 / static_cast<double>(tile.elem_bytes);
    const double bytes =
        static_cast<double>((tile.rows + tile.columns) * tile.row_bytes()) + fed.copied_bytes;
    const double fetched =
        static_cast<double>((tile.warp_rows + tile.warp_columns) * tile.row_bytes()) * items /
        kCoreLanes;
    const double spill = std::max(0.0, registers() - rates.item_registers);
    return {resident * (ops / rate) * (1 + spill / 32),
            resident * bytes / rates.l2_bytes_per_cycle_async,
            resident * (fetched + bytes) / rates.local_bytes_per_cycle_mma,
            rates.async_copy_latency_cycles / (step_stages(gemm.schedule) - 1),
            resident * (gather_cycles() + fed.issued / rates.issue_per_cycle_beside_mma)};
  }

  double step_cycles(double resident) const {
    const Step parts = step(resident);
    return std::max({parts.matrix, parts.l2, parts.local, parts.latency}) + parts.beside +
           rates.mma_step_cycles;
  }

  // Of all resident blocks' results, with what post-ops read and issue. A block's own loads, arithmetic
  // and stores wait for each other; those of others overlap.
  double store_cycles(double resident) const {
    const nest::Slot &out = gemm.nest.slots[gemm.nest.out.slot];
    const auto results = static_cast<double>(tile.rows * tile.columns);
    const double bytes =
        results * (static_cast<double>(size_bytes(out.type)) + operand_bytes(gemm.nest));
    const double moved =
        std::max(bytes / rates.store_bytes_per_cycle, scattered_cycles(gemm, target));
    const double issued =
        results * post_slots(gemm.nest) / (rates.schedulers * rates.scheduler_lanes);
    return resident * std::max(moved, issued) + std::min(moved, issued);
  }

  double unique_bytes() const { return touched_bytes(gemm.nest) + fed.memory_bytes; }

  // On a multiprocessor.
  double blocks_at_once() const {
    return std::min(resident(),
                    std::ceil(static_cast<double>(core_blocks(gemm)) / target.compute_units));
  }

  Demands demands() const {
    const Estimate all = run();
    const double at_once = blocks_at_once();
    const double waves =
        std::ceil(static_cast<double>(all.blocks) / (at_once * target.compute_units)) * cycle;
    const double steps = waves * static_cast<double>(core_steps(gemm));
    const Step parts = step(at_once);
    return {{"matrix units", steps * parts.matrix},
            {"second-level cache", steps * parts.l2},
            {"local memory", steps * parts.local},
            {"latency of copies", steps * parts.latency},
            {"instruction issue", steps * parts.beside},
            {"steps' barriers", steps * rates.mma_step_cycles},
            {"stores", waves * store_cycles(at_once)},
            {"memory", all.memory},
            {"launch", all.launch}};
  }

  Estimate run() const {
    Estimate estimate;
    estimate.blocks = core_blocks(gemm);
    estimate.launch = target.launch_us * 1e-6;
    const auto count = static_cast<double>(estimate.blocks);
    const double at_once = blocks_at_once();
    const double waves = std::ceil(count / (at_once * target.compute_units));
    const double steps = static_cast<double>(core_steps(gemm));
    const double wave =
        (steps * step_cycles(at_once) + store_cycles(at_once) + rates.mma_block_cycles) * cycle;
    estimate.compute = wave / at_once;
    estimate.waves = waves * at_once * target.compute_units / count;
    estimate.memory = unique_bytes() / (rates.mma_memory_share * target.gbytes_per_s * 1e9);
    estimate.seconds = std::max(waves * wave, estimate.memory) + estimate.launch;
    estimate.reasons = {{"registers", registers(), "per work-item"},
                        {"resident blocks", at_once, "per multiprocessor"},
                        {"steps", steps, "per block"},
                        {"all resident blocks", step_cycles(at_once), "cycles per step"},
                        {"stores", store_cycles(at_once), "cycles of all resident blocks"},
                        {"wave", wave * 1e6, "us"},
                        {"waves", waves, ""},
                        {"memory", estimate.memory * 1e6, "us"},
                        {"launch", target.launch_us, "us"}};
    return estimate;
  }
};

} // namespace

Estimate predict_gemm(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return is_wgmma(*gemm.core().op) ? predict_wgmma(gemm, target, fed)
                                   : CoreModel{gemm, target, fed}.run();
}

Demands gemm_demands(const schedule::Gemm &gemm, const Target &target, const FedRing &fed) {
  return is_wgmma(*gemm.core().op) ? wgmma_demands(gemm, target, fed)
                                   : CoreModel{gemm, target, fed}.demands();
}

Estimate predict_core_tile(const schedule::Gemm &tile, const Target &unit) {
  const CoreModel model{tile, unit};
  const auto steps = static_cast<double>(core_steps(tile));
  Estimate estimate;
  estimate.blocks = 1;
  estimate.waves = 1;
  estimate.compute =
      static_cast<double>(core_blocks(tile)) *
      (steps * model.step_cycles(1) + model.store_cycles(1) + model.rates.mma_block_cycles) *
      model.cycle;
  estimate.seconds = estimate.compute;
  return estimate;
}

Figures gemm_figures(const schedule::Gemm &gemm, const Target &target) {
  if (is_wgmma(*gemm.core().op))
    return wgmma_figures(gemm);
  const CoreModel model{gemm, target};
  const auto count = static_cast<double>(core_blocks(gemm));
  const auto steps = static_cast<double>(core_steps(gemm));
  Figures figures;
  figures.blocks = count;
  figures.work_items = model.items;
  figures.barriers = count * steps;
  figures.local_bytes = static_cast<double>(local_bytes(local_buffers(gemm)));
  figures.registers = model.registers();
  figures.local_conflicts = 0;
  return figures;
}

} // namespace tilefuse::cost
