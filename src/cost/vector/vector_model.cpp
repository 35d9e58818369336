// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/vector_model.h"

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "cost/vector/conversions.h"
#include "cost/vector/register_tile.h"
#include "cost/vector/vector_traffic.h"
#include "cost/waves.h"
#include "nest/index.h"
#include "schedule/blocks.h"
#include "schedule/dots.h"
#include "schedule/guards.h"
#include "schedule/mma/core_roles.h"
#include "schedule/result_tile.h"
#include "schedule/staging.h"
#include "target/shared_launch.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using schedule::Schedule;

// Share of the time of the less busy of core, second-level cache and memory that is not hidden.
constexpr double kUnhidden = 0.15;
constexpr double kUnhiddenWalk = 0.4; // the same of far levels, where steps walk through many runs
// Cycles per row and per vector of a staging copy, and per element where it is not contiguous.
constexpr double kRowCycles = 8;
constexpr double kCopyCycles = 1;
constexpr double kElementCycles = 1.5;
constexpr double kBlockCycles = 60;  // calling a block
constexpr double kShapeCycles = 220; // telling a matrix unit the shapes of its registers
// Cycles per vector of a square that is turned: loading and storing it beside its shuffles; and per
// square.
constexpr double kTurnedRow = 2;
constexpr double kSquareCycles = 6;
// From the start of a kernel until its other threads have their first blocks, and from the end of
// the last until all are seen to have ended: 0.3 us of two idle cores, more beside a host's other
// guests.
constexpr double kDealSeconds = 0.7e-6;
// Of taking the last blocks of another unit, where there is more than one run for each: their lines
// come from the other's cache, and go back the next time, while sums of products compute.
constexpr double kTakenSeconds = 0.3e-6;
// Of the time that a block waits for caches, what it takes longer where others wait for it.
constexpr double kDisturbed = 0.15;

class VectorModel {
public:
  // `tile` is that of the schedule, or of one that differs in the tiles of its outputs.
  VectorModel(const Nest &nest, const Schedule &schedule, const Target &target,
              const RegisterTileCost &tile)
      : nest_(nest), schedule_(schedule), target_(target), rates_(core_rates(target)), tile_(tile) {
  }

  Estimate run(const VectorTraffic &traffic);
  Estimate run_tile(const VectorTraffic *refill);
  // The reasons of what run() has estimated.
  void explain(Estimate &estimate) const;
  Demands demands(const VectorTraffic &traffic);

private:
  // Cycles of a core for a block, by part, and the bytes its levels exchange.
  struct Block {
    double accumulate = 0;
    double store = 0;
    double stage = 0;
    double l2_bytes = 0;
    double l3_bytes = 0;
    double memory_bytes = 0;
  };

  std::size_t outputs() const { return static_cast<std::size_t>(nest_.output_indices); }
  std::int64_t grid(IndexId i) const {
    const std::int64_t points = schedule_.splits[i].of_block();
    return (extent(nest_, i) + points - 1) / points;
  }
  void add_core(const Indexed<IndexId, std::int64_t> &points, Block &block) const;
  Dealing dealing() const;
  double deal_seconds(const Dealing &dealing) const;
  double stage_cycles(const VectorTraffic &traffic) const;
  double turn_cycles() const;
  double core_seconds(const Block &block) const;
  double block_seconds(const Block &block) const;
  std::vector<GridDim> grid_dims() const;
  Block block_of(const Indexed<IndexId, bool> &is_edge) const;
  Block take_in(const std::vector<bool> &edges, double count);
  Estimate estimate();
  StepCost whole_step() const;

  const Nest &nest_;
  const Schedule &schedule_;
  const Target &target_;
  CoreRates rates_;
  const RegisterTileCost &tile_;
  Block mean_;         // over all blocks
  double turn_ = 0;    // cycles of a whole block, for results that are turned
  bool walks_ = false; // a step walks through many runs of some input
};

// Whole and partial steps of every index at their own sizes.
void VectorModel::add_core(const Indexed<IndexId, std::int64_t> &points, Block &block) const {
  Copies copies(outputs(), 1);
  const auto walk = [&](const auto &self, IndexId i, double times, bool partial) -> void {
    if (!is_output(nest_, i)) {
      block.accumulate += times * (tile_.accumulate_cycles(copies) + tile_.overhead_cycles());
      block.store += times * tile_.store_cycles(copies, partial);
      return;
    }
    const schedule::Split &split = schedule_.splits[i];
    const IndexId next{to_int(i) + 1};
    const std::int64_t whole = points[i] / split.step();
    const std::int64_t rest = points[i] % split.step();
    copies[i] = static_cast<double>(split.keep * split.vec);
    if (whole > 0)
      self(self, next, times * static_cast<double>(whole), partial);
    copies[i] = std::ceil(static_cast<double>(rest) / static_cast<double>(split.lane));
    if (rest > 0)
      self(self, next, times, partial || rest % split.lane != 0);
  };
  walk(walk, IndexId{0}, 1, false);
}

// Squares are read, turned and written, of so many elements.
double turned_copy_cycles(double elems, double width) {
  return elems / width * (kTurnedRow + std::log2(width)) + elems / (width * width) * kSquareCycles;
}

double VectorModel::stage_cycles(const VectorTraffic &traffic) const {
  double cycles = 0;
  const double width = static_cast<double>(vector_width(schedule_));
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const int input = static_cast<int>(k);
    if (!is_staged(schedule_.fills[k]) || schedule_.fills[k] == schedule::Fill::Produced)
      continue;
    const schedule::StageTile tile = stage_tile(nest_, schedule_, input);
    if (tile.dims.empty())
      continue;
    const double widened =
        schedule_.dot == nullptr
            ? conversion(type_of(nest_, nest_.inputs[k])).neighbours * kCopyCycles
            : 0;
    if (schedule_.pipes[k].layout == schedule::Layout::Transposed) {
      const double elems = static_cast<double>(tile.elems);
      cycles += traffic.fills(k) * (turned_copy_cycles(elems, width) + elems / width * widened);
      continue;
    }
    const schedule::StageDim &inner = tile.dims.back();
    const double range = static_cast<double>(inner.range);
    const double rows = static_cast<double>(tile.elems) / range;
    const schedule::Source source = source_of(nest_, schedule_, input);
    const bool is_contiguous = source.dims[at(inner.dim)].stride == 1;
    const double whole = is_contiguous ? std::floor(range / width) : 0;
    const double rest = range - whole * width;
    cycles += traffic.fills(k) * rows *
              (kRowCycles + whole * (kCopyCycles + widened) + rest * (kElementCycles + widened));
  }
  return cycles;
}

// Of all results of a block: squares are loaded, turned and stored row by row.
double VectorModel::turn_cycles() const {
  if (schedule_.store == schedule::Store::Direct)
    return 0;
  const schedule::ResultTile tile = result_tile(nest_, schedule_);
  const double width = static_cast<double>(vector_width(schedule_));
  const double squares = std::ceil(static_cast<double>(tile.run_points()) / width) *
                         std::ceil(static_cast<double>(tile.runs()) / width);
  double times = 1;
  for (const IndexId i : output_indices(nest_))
    if (!tile.dims[i].is_tile)
      times *= std::ceil(static_cast<double>(schedule_.splits[i].tile) /
                         static_cast<double>(tile.dims[i].points));
  const double scattered = tile.run_stride == 1 ? 0 : squares * width * width;
  return times * (turned_copy_cycles(squares * width * width, width) + scattered);
}

double VectorModel::core_seconds(const Block &block) const {
  return (block.accumulate + block.store + block.stage + kBlockCycles +
          (has_dot_rows(schedule_) ? kShapeCycles : 0)) /
         rates_.hertz;
}

double VectorModel::block_seconds(const Block &block) const {
  const double core = core_seconds(block);
  const double l2 = block.l2_bytes / rates_.l2_bytes_per_cycle / rates_.hertz;
  const double l3 = block.l3_bytes / rates_.l3_bytes_per_s;
  const double memory = block.memory_bytes / rates_.memory_bytes_per_s;
  const double longest = std::max({core, l2, l3, memory});
  const auto beside = [&](double time) { return time < longest ? time : 0; };
  return longest + kUnhidden * (beside(core) + beside(l2)) +
         (walks_ ? kUnhiddenWalk : kUnhidden) * (beside(l3) + beside(memory));
}

// Of a whole register tile.
StepCost VectorModel::whole_step() const {
  Copies copies;
  copies.reserve(outputs());
  for (const IndexId i : output_indices(nest_))
    copies.push_back(static_cast<double>(schedule_.splits[i].keep * schedule_.splits[i].vec));
  return tile_.step(copies);
}

void VectorModel::explain(Estimate &estimate) const {
  const StepCost step = whole_step();
  const double us = 1e6 / rates_.hertz;
  estimate.reasons = {
      {"register tile", step.accumulators, "accumulators"},
      {"  multiply-adds", step.arithmetic_cycles, "cycles per step"},
      {"  loads", step.load_cycles, "cycles per step"},
      {"  spills", step.spills, "registers"},
      {"  issue", step.issue_cycles, "cycles per step"},
      {"  accumulator chain", step.chain_cycles, "cycles per step"},
      {"  all together", step.cycles, "cycles per step"},
      {"blocks", static_cast<double>(estimate.blocks), ""},
      {"compute", mean_.accumulate * us, "us per block"},
      {"post-ops and stores", mean_.store * us, "us per block"},
      {"staging", mean_.stage * us, "us per block"},
      {"second-level cache", mean_.l2_bytes / rates_.l2_bytes_per_cycle * us, "us per block"},
      {"third-level cache", estimate.memory * 1e6, "us per block"},
      {"memory", mean_.memory_bytes / rates_.memory_bytes_per_s * 1e6, "us per block"},
      {"blocks of the busiest unit", estimate.waves, "average blocks"},
      {"launch", estimate.launch * 1e6, "us"}};
}

// A block whose indices have their full tiles, or where `is_edge` what the last block is left with.
VectorModel::Block VectorModel::block_of(const Indexed<IndexId, bool> &is_edge) const {
  Indexed<IndexId, std::int64_t> size(outputs(), 1);
  double share = static_cast<double>(schedule::blocks(nest_, schedule_));
  for (const IndexId i : output_indices(nest_)) {
    const std::int64_t tile = schedule_.splits[i].of_block();
    const std::int64_t all = extent(nest_, i);
    size[i] = is_edge[i] ? all % tile : std::min(tile, all);
    share *= static_cast<double>(size[i]) / static_cast<double>(all);
  }
  Block block;
  add_core(size, block);
  block.stage = mean_.stage * share;
  block.store += turn_ * share;
  block.l2_bytes = mean_.l2_bytes * share;
  block.l3_bytes = mean_.l3_bytes * share;
  block.memory_bytes = mean_.memory_bytes * share;
  return block;
}

// How the device deals out blocks: where its threads are its own, none of small kernels.
Dealing VectorModel::dealing() const {
  const int units = std::max(1, target_.compute_units);
  if (!has(target_, Feature::SharedBlocks))
    return {.units = units};
  double bytes = 0;
  for (const nest::Slot &slot : nest_.slots)
    bytes += static_cast<double>(slot.elems * size_bytes(slot.type));
  const double seconds = one_thread_seconds(nest::flops(nest_), bytes, target_);
  const std::int64_t blocks = schedule::blocks(nest_, schedule_);
  if (units == 1 || blocks == 1 || !is_shared(seconds))
    return {.units = 1};
  return {.units = units, .at_once = blocks_at_once(blocks, seconds, units)};
}

// Seconds that dealing takes besides the blocks.
double VectorModel::deal_seconds(const Dealing &dealing) const {
  if (dealing.units <= 1 || !has(target_, Feature::SharedBlocks))
    return 0;
  const bool is_taken = nest_.comb != program::Comb::Mul &&
                        schedule::blocks(nest_, schedule_) > dealing.units * dealing.at_once;
  return kDealSeconds + (is_taken ? kTakenSeconds : 0);
}

// As outputs stand in the order.
std::vector<GridDim> VectorModel::grid_dims() const {
  std::vector<GridDim> dims;
  dims.reserve(outputs());
  for (std::size_t d = 0; d < outputs(); ++d) {
    const IndexId i = schedule_.order[d];
    dims.push_back({grid(i), extent(nest_, i) % schedule_.splits[i].of_block() != 0});
  }
  return dims;
}

// A block of one kind, of which there are `count`, beside all others.
VectorModel::Block VectorModel::take_in(const std::vector<bool> &edges, double count) {
  Indexed<IndexId, bool> is_edge(outputs(), false);
  for (std::size_t d = 0; d < edges.size(); ++d)
    is_edge[schedule_.order[d]] = edges[d];
  const Block block = block_of(is_edge);
  mean_.accumulate += count * block.accumulate;
  mean_.store += count * block.store;
  return block;
}

Estimate VectorModel::run(const VectorTraffic &traffic) {
  walks_ = traffic.walks();
  mean_.stage = stage_cycles(traffic);
  turn_ = turn_cycles();
  mean_.l2_bytes = traffic.l2_bytes();
  mean_.l3_bytes = traffic.l3_bytes();
  mean_.memory_bytes = traffic.memory_bytes();
  double total = 0; // seconds of all blocks
  double longest_wait = 0;
  const auto block_time = [&](const std::vector<bool> &edges, double count) {
    const Block block = take_in(edges, count);
    const double seconds = block_seconds(block);
    total += count * seconds;
    longest_wait = std::max(longest_wait, seconds - core_seconds(block));
    return seconds;
  };
  const Dealing dealing = this->dealing();
  const double busy = makespan(grid_dims(), dealing, block_time) + kDisturbed * longest_wait +
                      deal_seconds(dealing);
  Estimate all = estimate();
  all.waves = busy * static_cast<double>(all.blocks) / total;
  all.seconds = all.launch + busy;
  return all;
}

Estimate VectorModel::run_tile(const VectorTraffic *refill) {
  turn_ = turn_cycles();
  if (refill != nullptr)
    mean_.l2_bytes = refill->l2_bytes();
  for_each_kind(grid_dims(), [&](const std::vector<bool> &edges, double count) {
    if (count > 0)
      take_in(edges, count);
  });
  return estimate();
}

// Of an average block, where all kinds are taken in.
Estimate VectorModel::estimate() {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double blocks = static_cast<double>(estimate.blocks);
  mean_.accumulate /= blocks;
  mean_.store /= blocks;
  estimate.compute = mean_.accumulate / rates_.hertz;
  estimate.stores = mean_.store / rates_.hertz;
  estimate.staging = mean_.stage / rates_.hertz;
  estimate.refill = mean_.l2_bytes / rates_.l2_bytes_per_cycle / rates_.hertz;
  estimate.memory = mean_.l3_bytes / rates_.l3_bytes_per_s;
  estimate.launch = target_.launch_us * 1e-6;
  return estimate;
}

Demands VectorModel::demands(const VectorTraffic &traffic) {
  const Estimate all = run(traffic);
  const StepCost step = whole_step();
  const double of_steps = all.waves * all.compute / std::max(step.cycles, 1e-9);
  return {{"multiply-add ports", of_steps * step.arithmetic_cycles},
          {"load ports", of_steps * step.load_cycles},
          {"store port", of_steps * step.store_cycles},
          {"issue", of_steps * step.issue_cycles},
          {"accumulator chain", of_steps * step.chain_cycles},
          {"post-ops and stores", all.waves * all.stores},
          {"staging", all.waves * all.staging},
          {"second-level cache", all.waves * all.refill},
          {"third-level cache", all.waves * all.memory},
          {"memory", all.waves * mean_.memory_bytes / rates_.memory_bytes_per_s},
          {"launch", all.launch}};
}

} // namespace

Estimate predict_vector(const Nest &nest, const Schedule &schedule, const Target &target,
                        const Nest *whole) {
  const VectorSteps steps(nest, schedule, target, whole);
  const StepTraffic step(nest, schedule, target, steps);
  VectorModel model(nest, schedule, target, steps.tile);
  Estimate estimate = model.run({nest, schedule, target, step, whole != nullptr});
  model.explain(estimate);
  return estimate;
}

Estimate predict_vector_tile(const Nest &nest, const Schedule &schedule, const Target &target,
                             bool with_refill) {
  const VectorSteps steps(nest, schedule, target);
  VectorModel model(nest, schedule, target, steps.tile);
  if (!with_refill)
    return model.run_tile(nullptr);
  const StepTraffic step(nest, schedule, target, steps);
  const VectorTraffic traffic(nest, schedule, target, step, false);
  return model.run_tile(&traffic);
}

VectorPrices::VectorPrices(const Nest &nest, const Schedule &schedule, const Target &target)
    : nest_(nest), first_(schedule), target_(target), steps_(nest, first_, target),
      step_(nest, first_, target, steps_),
      is_alike_(std::none_of(first_.fills.begin(), first_.fills.end(), schedule::is_staged)) {}

Estimate VectorPrices::of(const Schedule &schedule) const {
  if (!is_alike_)
    return predict_vector(nest_, schedule, target_);
  return VectorModel(nest_, schedule, target_, steps_.tile)
      .run({nest_, schedule, target_, step_, false});
}

Demands vector_demands(const Nest &nest, const Schedule &schedule, const Target &target) {
  const VectorSteps steps(nest, schedule, target);
  const StepTraffic step(nest, schedule, target, steps);
  return VectorModel(nest, schedule, target, steps.tile)
      .demands({nest, schedule, target, step, false});
}

} // namespace tilefuse::cost
