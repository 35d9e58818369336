// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cost/lane_access.h"
#include "cost/lane_models.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using nest::Operand;
using schedule::Schedule;

constexpr double kWarp = 32;
// Of a multiprocessor: resident work-items and blocks, 32-bit registers, warps issued per cycle.
constexpr double kMostItems = 2048;
constexpr double kMostBlocks = 32;
constexpr double kRegisters = 65536;
constexpr double kIssue = 4;
// Registers for addresses and loop counters, and the most that one work-item can have.
constexpr double kSpareRegisters = 30;
constexpr double kMostRegisters = 255;
// Cycles: of a multiply-add, a read of local memory, a fetch from memory, a barrier.
constexpr double kFmaLatency = 4;
constexpr double kLocalLatency = 25;
constexpr double kMemoryLatency = 600;
constexpr double kBarrierLatency = 30;
// Instructions to copy one element or vector into local memory, addresses and guards included.
constexpr double kCopyInstructions = 14;
// The last-level cache serves this many times main memory's bytes.
constexpr double kCacheRatio = 2.0;
// Bytes of local memory or first-level cache per cycle.
constexpr double kWavefrontBytes = 128;

class WorkItemModel {
public:
  WorkItemModel(const Nest &nest, const Schedule &schedule, const Target &target)
      : nest_(nest), schedule_(schedule), target_(target) {
    items_ = static_cast<double>(group_size(schedule));
    warps_ = std::ceil(items_ / kWarp);
    lanes_per_cycle_ = kIssue * kWarp;
    cycle_ = 2 * lanes_per_cycle_ / (target.gflops_per_unit * 1e9);
  }

  Estimate run();
  Figures figures() const;

private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  double extent(int i) const { return static_cast<double>(nest_.indices[at(i)].extent); }
  bool moves(const Operand &operand, int i) const {
    return std::any_of(operand.dims.begin(), operand.dims.end(),
                       [&](const nest::Dim &dim) { return dim.at.coeff[at(i)] != 0; });
  }
  double copies(int i) const;
  double fragments(const Operand &operand) const;
  double steps() const;
  double reduced_points() const;
  double refills(int input) const;
  double load_wavefronts(int input) const;
  double staged_accesses(int input) const;
  double registers() const;
  double resident_blocks() const;
  double source_bytes(int input) const;
  double unique_bytes(const Operand &operand) const;
  double block_barriers() const;
  double vectors(const Operand &operand) const;
  void add_input(int input, Figures &figures) const;
  void add_global(const Operand &operand, Figures &figures) const;

  const Nest &nest_;
  const Schedule &schedule_;
  const Target &target_;
  double items_ = 1;
  double warps_ = 1;
  double lanes_per_cycle_ = 128;
  double cycle_ = 1; // seconds
};

// Register copies of an output index, vector elements included.
double WorkItemModel::copies(int i) const {
  const schedule::Split &split = schedule_.splits[at(i)];
  return static_cast<double>(points_of_step(nest_, schedule_, i) / split.lane);
}

double WorkItemModel::fragments(const Operand &operand) const {
  double count = 1;
  for (int i = 0; i < nest_.output_indices; ++i)
    if (moves(operand, i))
      count *= copies(i);
  return count;
}

// Steps that a block walks one after another.
double WorkItemModel::steps() const {
  double count = 1;
  for (int i = 0; i < nest_.output_indices; ++i)
    count *= static_cast<double>(schedule_.splits[at(i)].tile / schedule_.splits[at(i)].step());
  return count;
}

double WorkItemModel::reduced_points() const {
  double count = 1;
  for (int i = nest_.output_indices; i < static_cast<int>(nest_.indices.size()); ++i) {
    const double tile = static_cast<double>(schedule_.splits[at(i)].tile);
    count *= std::ceil(extent(i) / tile) * tile;
  }
  return count;
}

// How often a step fills the buffer of an input.
double WorkItemModel::refills(int input) const {
  const int level = schedule_.stages[at(input)].at;
  double count = 1;
  if (level < 0)
    return 1 / steps();
  for (int i : chunked_indices(nest_, schedule_)) {
    count *= std::ceil(extent(i) / static_cast<double>(schedule_.splits[at(i)].tile));
    if (i == level)
      break;
  }
  return count;
}

// Wavefronts that a warp needs for the fragments of one reduced point.
double WorkItemModel::load_wavefronts(int input) const {
  const Operand &operand = nest_.inputs[at(input)];
  const int vector = vector_index(schedule_);
  const double width = vector >= 0 && moves(operand, vector)
                           ? static_cast<double>(schedule_.splits[at(vector)].vec)
                           : 1;
  double lanes = 1; // that read different elements
  double left = kWarp;
  const std::vector<schedule::LanePart> parts = lane_digits(schedule_);
  std::int64_t scatter = 1;
  for (auto part = parts.rbegin(); part != parts.rend() && left > 1; ++part) {
    const double here = std::min(left, static_cast<double>(part->count));
    if (moves(operand, part->index)) {
      if (lanes == 1 && schedule_.fills[at(input)] == schedule::Fill::Direct)
        scatter = std::llabs(nest::flat(operand, nest_.indices.size()).coeff[at(part->index)]);
      lanes *= here;
    }
    left /= here;
  }
  const double elem = static_cast<double>(size_bytes(schedule::held_type(nest_, input)));
  const double spread =
      std::min<double>(8, static_cast<double>(std::max<std::int64_t>(1, scatter)));
  const double wavefronts =
      std::max(1.0, lanes * width * elem * (scatter > 1 ? spread : 1) / kWavefrontBytes);
  return fragments(operand) / width * wavefronts;
}

double WorkItemModel::staged_accesses(int input) const {
  const schedule::StageTile tile = stage_tile(nest_, schedule_, input);
  return static_cast<double>(tile.elems) / 2;
}

double WorkItemModel::registers() const {
  double accumulators = 1;
  for (int i = 0; i < nest_.output_indices; ++i)
    accumulators *= copies(i);
  double fewest = accumulators;
  double ahead = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    fewest = std::min(fewest, fragments(nest_.inputs[k]));
    if (schedule_.stages[k].twice)
      ahead += staged_accesses(static_cast<int>(k)) * 2 / items_;
  }
  return accumulators + fewest + ahead + kSpareRegisters;
}

double WorkItemModel::resident_blocks() const {
  double local = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (is_staged(schedule_.fills[k]))
      local += static_cast<double>(stage_bytes(nest_, schedule_, static_cast<int>(k)));
  const double whole = static_cast<double>(std::max(target_.local_bytes, target_.l1_bytes));
  const double by_local = local > 0 ? std::floor(whole / local) : kMostBlocks;
  const double used = std::min(registers(), kMostRegisters) * warps_ * kWarp;
  const double by_registers = std::floor(kRegisters / used);
  const double by_items = std::floor(kMostItems / (warps_ * kWarp));
  return std::max(1.0, std::min({by_local, by_registers, by_items, kMostBlocks}));
}

// Bytes that all blocks ask of the last-level cache for an input.
double WorkItemModel::source_bytes(int input) const {
  const Operand &operand = nest_.inputs[at(input)];
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  const double elem = static_cast<double>(size_bytes(schedule::held_type(nest_, input)));
  if (is_staged(schedule_.fills[at(input)]))
    return blocks * steps() * refills(input) * elem *
           static_cast<double>(stage_tile(nest_, schedule_, input).elems);
  double points = blocks * steps();
  for (int i = 0; i < static_cast<int>(nest_.indices.size()); ++i)
    if (moves(operand, i))
      points *= i < nest_.output_indices ? static_cast<double>(points_of_step(nest_, schedule_, i))
                                         : extent(i);
  return points * elem;
}

double WorkItemModel::unique_bytes(const Operand &operand) const {
  double bytes =
      static_cast<double>(size_bytes(nest_.slots[static_cast<std::size_t>(operand.slot)].type));
  for (const nest::Dim &dim : operand.dims)
    bytes *= static_cast<double>(dim.size);
  return bytes;
}

// Two around each refill, unless loops further in have them already; one per refill that is fetched
// ahead; one after what is filled once.
double WorkItemModel::block_barriers() const {
  if (items_ <= 1)
    return 0;
  const auto staged_at = [&](int level, bool twice) {
    for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
      if (is_staged(schedule_.fills[k]) && schedule_.stages[k].at == level &&
          schedule_.stages[k].twice == twice)
        return true;
    return false;
  };
  const std::vector<int> chunks = chunked_indices(nest_, schedule_);
  double count = 0; // of one step
  bool before = false, after = false;
  for (auto level = chunks.rbegin(); level != chunks.rend(); ++level) {
    if (level == chunks.rbegin() && staged_at(*level, true)) {
      count += 1;
      before = true;
    }
    if (staged_at(*level, false)) {
      count += (before ? 0 : 1) + (after ? 0 : 1);
      before = after = true;
    }
    count *= std::ceil(extent(*level) / static_cast<double>(schedule_.splits[at(*level)].tile));
  }
  return steps() * count + (staged_at(-1, false) ? 1 : 0);
}

// Reads of one operand per reduced point by a work-item.
double WorkItemModel::vectors(const Operand &operand) const {
  const int vector = vector_index(schedule_);
  const bool wide = vector >= 0 && moves(operand, vector);
  return fragments(operand) / (wide ? static_cast<double>(schedule_.splits[at(vector)].vec) : 1);
}

void WorkItemModel::add_input(int input, Figures &figures) const {
  const Operand &operand = nest_.inputs[at(input)];
  const LaneAccess access = input_access(nest_, schedule_, target_, input);
  const double reads = figures.blocks * steps() * reduced_points() * vectors(operand);
  *figures.block_bytes += source_bytes(input);
  *figures.grid_bytes += unique_bytes(operand);
  if (!is_staged(schedule_.fills[at(input)])) {
    *figures.sectors += reads * access.sectors;
    return;
  }
  const double times = figures.blocks * steps() * refills(input);
  double elems = 1;
  for (const schedule::StageDim &dim : stage_tile(nest_, schedule_, input).dims)
    elems *= static_cast<double>(dim.range);
  const double elem = static_cast<double>(size_bytes(schedule::held_type(nest_, input)));
  *figures.local_bytes += static_cast<double>(stage_bytes(nest_, schedule_, input));
  *figures.staged_bytes += times * elems * elem;
  *figures.sectors += times * copy_sectors(nest_, schedule_, target_, input);
  *figures.local_requests += reads * access.requests;
  *figures.local_wavefronts += reads * access.wavefronts;
  *figures.local_conflicts += reads * (access.wavefronts - access.phases);
}

// The result or an extra.
void WorkItemModel::add_global(const Operand &operand, Figures &figures) const {
  const double sectors = operand_access(nest_, schedule_, target_, operand).sectors;
  *figures.sectors += figures.blocks * steps() * vectors(operand) * sectors;
  *figures.block_bytes += unique_bytes(operand);
  *figures.grid_bytes += unique_bytes(operand);
}

Figures WorkItemModel::figures() const {
  Figures figures;
  figures.blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  figures.work_items = items_;
  figures.barriers = figures.blocks * block_barriers();
  figures.registers = registers();
  figures.local_bytes = figures.staged_bytes = 0;
  figures.local_requests = figures.local_wavefronts = figures.local_conflicts = 0;
  figures.sectors = figures.block_bytes = figures.grid_bytes = 0;
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k)
    add_input(k, figures);
  for (const Operand &extra : nest_.extras)
    add_global(extra, figures);
  add_global(nest_.out, figures);
  if (nest_.agg != program::Agg::Sum || nest_.comb != program::Comb::Mul ||
      !is_float(nest_.acc_type))
    return figures;
  figures.multiply_adds = figures.blocks * items_ * steps() * reduced_points();
  for (int i = 0; i < nest_.output_indices; ++i)
    *figures.multiply_adds *= copies(i);
  return figures;
}

Estimate WorkItemModel::run() {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double blocks = static_cast<double>(estimate.blocks);
  const double units = std::max(1, target_.compute_units);
  double accumulators = 1;
  double outputs = 1;
  for (int i = 0; i < nest_.output_indices; ++i) {
    accumulators *= copies(i);
    outputs *= extent(i);
  }
  const double points = steps() * reduced_points();
  double wavefronts = 0, loads = 0, copy_issue = 0, cache_bytes = 0, memory_bytes = 0;
  double barriers = 0, exposed = 0;
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k) {
    wavefronts += warps_ * points * load_wavefronts(k);
    const int vector = vector_index(schedule_);
    const bool wide = vector >= 0 && moves(nest_.inputs[at(k)], vector);
    loads += points * fragments(nest_.inputs[at(k)]) /
             (wide ? static_cast<double>(schedule_.splits[at(vector)].vec) : 1);
    cache_bytes += source_bytes(k);
    memory_bytes += unique_bytes(nest_.inputs[at(k)]);
    if (!is_staged(schedule_.fills[at(k)])) {
      double guards = 0;
      for (const nest::Dim &dim : nest_.inputs[at(k)].dims)
        guards += dim.guarded ? 4 : 0;
      copy_issue += warps_ * points * fragments(nest_.inputs[at(k)]) * guards;
      continue;
    }
    const double times = steps() * refills(k);
    copy_issue += times * staged_accesses(k) / kWarp * kCopyInstructions;
    const bool twice = schedule_.stages[at(k)].twice;
    barriers = std::max(barriers, times * (twice ? 1 : 2));
    exposed = std::max(exposed, times * kMemoryLatency * (twice ? 0 : 1));
  }
  const double spilled = std::max(0.0, registers() - kMostRegisters);
  const double fma_issue = warps_ * points * (accumulators + spilled * 4);
  const double issue = fma_issue + warps_ * loads + copy_issue + warps_ * points * 0.3;
  const double busy = std::max(issue / kIssue, wavefronts);
  // A block alone: its warps issue in turn, each waits for its own chains.
  const double chains = std::max(1.0, std::min(accumulators, kFmaLatency));
  const double alone =
      std::max(busy,
               (points * (accumulators * kFmaLatency / chains + loads) + copy_issue / warps_) +
                   points * kLocalLatency / std::max(1.0, accumulators / 4)) +
      exposed + barriers * kBarrierLatency + kMemoryLatency;
  const double resident = resident_blocks();
  const double rounds = std::ceil(blocks / units);
  estimate.waves = std::ceil(blocks / (units * resident));
  const double cycles = std::max(rounds * busy, estimate.waves * alone);
  estimate.compute = busy * cycle_;
  estimate.staging = copy_issue / kIssue * cycle_;
  const double out_bytes = unique_bytes(nest_.out);
  memory_bytes += out_bytes;
  for (const Operand &extra : nest_.extras)
    memory_bytes += unique_bytes(extra);
  const double rate = target_.gbytes_per_s * 1e9;
  estimate.memory = std::max(memory_bytes / rate, cache_bytes / (rate * kCacheRatio)) / blocks;
  estimate.stores = outputs / blocks / lanes_per_cycle_ * 12 * cycle_;
  estimate.launch = target_.launch_us * 1e-6;
  const double compute = cycles * cycle_ + rounds * estimate.stores;
  const double memory = estimate.memory * blocks;
  estimate.seconds = estimate.launch + std::max(compute, memory) + 0.2 * std::min(compute, memory);
  return estimate;
}

} // namespace

Estimate predict_work_items(const Nest &nest, const Schedule &schedule, const Target &target) {
  return WorkItemModel(nest, schedule, target).run();
}

Figures work_item_figures(const Nest &nest, const Schedule &schedule, const Target &target) {
  return WorkItemModel(nest, schedule, target).figures();
}

} // namespace tilefuse::cost
