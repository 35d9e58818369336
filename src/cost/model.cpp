// SPDX-License-Identifier: Apache-2.0
#include "cost/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Nest;
using nest::Operand;
using schedule::Fill;
using schedule::Schedule;

// Multiply-adds in flight that hide their latency: 4 cycles at 2 per cycle.
constexpr double kLatencySlots = 8;
// Instructions that issue in the time of one multiply-add slot, two of which pass per cycle.
constexpr double kIssuePerSlot = 2.5;
constexpr double kLoopSlots = 6;
constexpr std::int64_t kLineBytes = 64;
// Ways of the first-level cache, and how much dearer a load is whose line was thrown out.
constexpr std::int64_t kL1Ways = 8;
constexpr double kConflictCost = 4;
// Elements of a cache line: a shorter run of memory costs a whole one.
constexpr double kLineElems = 16;
// Share of memory time that computing does not hide.
constexpr double kExposedMemory = 0.35;
// Bytes per slot from the second-level cache.
constexpr double kL2BytesPerSlot = 14;

class Model {
 public:
  Model(const Nest& nest, const Schedule& schedule, const Target& target)
      : nest_(nest), schedule_(schedule), target_(target), lane_(lane_index(schedule)) {
    width_ = lane_ < 0 ? 1 : static_cast<double>(schedule.splits[at(lane_)].lane);
    const double full_width = std::max(1, target.vector_f32);
    slot_seconds_ = 2 * full_width / (target.gflops_per_unit * 1e9);
    if (schedule.lanes == LaneKind::WorkItem) slot_seconds_ *= width_ / full_width;
  }

  Estimate run();

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  double extent(int i) const { return static_cast<double>(nest_.indices[at(i)].extent); }
  double copies(int i) const { return static_cast<double>(schedule_.splits[at(i)].keep); }
  bool uses(const Operand& operand, int i) const {
    return std::any_of(operand.dims.begin(), operand.dims.end(),
                       [&](const nest::Dim& dim) { return dim.at.coeff[at(i)] != 0; });
  }

  double tile_slots(const std::vector<double>& copies) const;
  double step_slots(const std::vector<double>& copies) const;
  double conflict_factor(const Operand& operand, const std::vector<double>& copies) const;
  double load_slots(int input) const;
  double block_compute() const;
  double block_stores() const;
  double block_staging() const;
  double block_memory_bytes() const;
  double resident_bytes(const Operand& operand) const;
  double points_in_block() const;

  const Nest& nest_;
  const Schedule& schedule_;
  const Target& target_;
  int lane_;
  double width_ = 1;
  double slot_seconds_ = 0;
};

// Slots of one load of an input: one, or one per lane when lanes are not neighbours.
double Model::load_slots(int input) const {
  const Operand& operand = nest_.inputs[at(input)];
  const Fill fill = schedule_.fills[at(input)];
  double guards = 0;
  if (fill == Fill::Direct)
    for (const nest::Dim& dim : operand.dims) guards += dim.guarded ? 4 : 0;
  if (lane_ < 0 || fill == Fill::Packed || schedule_.lanes == LaneKind::WorkItem)
    return 1 + guards;
  const std::int64_t stride = nest::flat(operand, nest_.indices.size()).coeff[at(lane_)];
  return (stride == 0 || stride == 1 ? 1 : 2.5 * width_) + guards;
}

// What loads cost more when the register copies of an operand lie a multiple of the first-level cache's way apart: their
// lines fall into few sets and throw each other out.
double Model::conflict_factor(const Operand& operand, const std::vector<double>& copies) const {
  if (schedule_.lanes == LaneKind::WorkItem) return 1;
  const nest::Linear flat = nest::flat(operand, nest_.indices.size());
  const std::int64_t way = target_.l1_bytes / kL1Ways;
  double worst = 1;
  for (int i = 0; i < nest_.output_indices; ++i) {
    const std::int64_t bytes = std::llabs(flat.coeff[at(i)]) * size_bytes(schedule::held_type(nest_));
    if (i == lane_ || bytes < kLineBytes) continue;
    const double sets = static_cast<double>(way / std::gcd(way, bytes));
    if (copies[at(i)] / sets > kL1Ways - 2) worst = kConflictCost;
  }
  return worst;
}

double Model::step_slots(const std::vector<double>& copies) const {
  double accumulators = 1;
  for (double count : copies) accumulators *= count;
  double loads = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    double fragments = 1;
    for (int i = 0; i < nest_.output_indices; ++i)
      if (uses(nest_.inputs[k], i)) fragments *= copies[at(i)];
    const double slots = load_slots(static_cast<int>(k));
    const bool direct = schedule_.fills[k] == Fill::Direct;
    loads += fragments * slots * (direct ? conflict_factor(nest_.inputs[k], copies) : 1);
  }
  const double issue = (accumulators + loads) / kIssuePerSlot;
  return std::max({accumulators, loads, kLatencySlots, issue});
}

// One register tile: all reduced points, plus the overhead of the reduced loops.
double Model::tile_slots(const std::vector<double>& copies) const {
  double steps = 1;
  double loops = 0;
  for (int i : schedule_.order) {
    if (i < nest_.output_indices) continue;
    steps *= extent(i);
    const double unroll = static_cast<double>(schedule_.splits[at(i)].keep);
    loops = loops * extent(i) + std::ceil(extent(i) / unroll) * (unroll < extent(i) ? 2 : 0.5);
  }
  return steps * step_slots(copies) + loops + kLoopSlots;
}

// Compute of an average block: whole and partial steps of every index at their own sizes.
double Model::block_compute() const {
  if (nest_.inputs.empty()) return 0;
  std::vector<double> sizes(nest_.indices.size(), 1);
  double total = 0;
  const auto walk = [&](const auto& self, int i, double times) -> void {
    if (i == nest_.output_indices) {
      total += times * tile_slots(sizes);
      return;
    }
    const schedule::Split& split = schedule_.splits[at(i)];
    const std::int64_t whole = nest_.indices[at(i)].extent / split.step();
    const std::int64_t rest = nest_.indices[at(i)].extent % split.step();
    sizes[at(i)] = copies(i);
    if (whole > 0) self(self, i + 1, times * static_cast<double>(whole));
    sizes[at(i)] = std::ceil(static_cast<double>(rest) / static_cast<double>(split.lane));
    if (rest > 0) self(self, i + 1, times);
    sizes[at(i)] = copies(i);
  };
  walk(walk, 0, 1);
  return total / static_cast<double>(schedule::blocks(nest_, schedule_));
}

double expression_slots(const program::Expr& expr) {
  double slots = 0;
  for (const program::Expr& arg : expr.args) slots += expression_slots(arg);
  if (expr.kind == program::Expr::Kind::Operand) return slots + 1;
  if (expr.kind != program::Expr::Kind::Call) return slots;
  switch (expr.op) {
    case ScalarOp::Exp:
    case ScalarOp::Tanh: return slots + 30;
    case ScalarOp::Log:
    case ScalarOp::Pow:
    case ScalarOp::Erf:
    case ScalarOp::Sin:
    case ScalarOp::Cos: return slots + 200;
    case ScalarOp::Div:
    case ScalarOp::Sqrt: return slots + 10;
    default: return slots + 1;
  }
}

double Model::points_in_block() const {
  double points = 1;
  for (int i = 0; i < nest_.output_indices; ++i) points *= extent(i);
  return points / static_cast<double>(schedule::blocks(nest_, schedule_));
}

// Post-ops and stores of a block's results.
double Model::block_stores() const {
  const auto gathers = [&](const Operand& operand) {
    if (lane_ < 0) return false;
    const std::int64_t stride = nest::flat(operand, nest_.indices.size()).coeff[at(lane_)];
    return stride != 0 && stride != 1 && schedule_.lanes == LaneKind::Vector;
  };
  double slots = 2 + expression_slots(nest_.post);
  if (gathers(nest_.out)) slots += 2 * width_;
  for (const Operand& extra : nest_.extras) slots += gathers(extra) ? 2.5 * width_ : 0;
  return slots * points_in_block() / width_;
}

double Model::block_staging() const {
  double slots = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    if (schedule_.fills[k] != Fill::Local) continue;
    const schedule::StageTile tile = stage_tile(nest_, schedule_, static_cast<int>(k));
    const double elems = static_cast<double>(tile.elems);
    const schedule::StageDim& inner = tile.dims.back();
    const bool contiguous = nest_.inputs[k].dims[at(inner.dim)].stride == 1;
    const double rows = elems / static_cast<double>(inner.range);
    const double vector = contiguous ? std::max(1.0, width_) : 1.0;
    slots += rows * 10 + 2.5 * elems / vector;
    if (schedule_.lanes == LaneKind::WorkItem) slots += 10 * elems / width_;
  }
  return slots;
}

double Model::resident_bytes(const Operand& operand) const {
  double bytes = static_cast<double>(size_bytes(schedule::held_type(nest_)));
  for (const nest::Dim& dim : operand.dims) {
    double range = 1;
    for (int i = 0; i < static_cast<int>(nest_.indices.size()); ++i) {
      const double span = i < nest_.output_indices
                              ? static_cast<double>(schedule_.splits[at(i)].tile)
                              : extent(i);
      range += static_cast<double>(std::llabs(dim.at.coeff[at(i)])) * (span - 1);
    }
    if (dim.stride == 1) range = std::ceil(range / kLineElems) * kLineElems;
    bytes *= std::min(range, static_cast<double>(dim.size));
  }
  return bytes;
}

// Bytes that a block brings in from beyond its own second-level cache.
double Model::block_memory_bytes() const {
  double bytes = 0;
  for (const Operand& input : nest_.inputs) {
    const double once = resident_bytes(input);
    double passes = 1;
    if (once > 0.6 * static_cast<double>(target_.l2_bytes))
      for (int i = 0; i < nest_.output_indices; ++i)
        if (!uses(input, i))
          passes *= std::ceil(static_cast<double>(schedule_.splits[at(i)].tile) /
                              static_cast<double>(schedule_.splits[at(i)].step()));
    bytes += once * passes;
  }
  for (const Operand& extra : nest_.extras)
    if (!extra.constant) bytes += points_in_block() * static_cast<double>(size_bytes(schedule::held_type(nest_)));
  return bytes + points_in_block() * static_cast<double>(size_bytes(schedule::held_type(nest_)));
}

Estimate Model::run() {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double units = std::max(1, target_.compute_units);
  double stream = 0;
  for (const Operand& input : nest_.inputs) {
    const bool by_lane = lane_ >= 0 && uses(input, lane_);
    double fragment = static_cast<double>(size_bytes(schedule::held_type(nest_)));
    if (by_lane) fragment *= static_cast<double>(schedule_.splits[at(lane_)].step());
    for (int i = nest_.output_indices; i < static_cast<int>(nest_.indices.size()); ++i)
      if (uses(input, i)) fragment *= extent(i);
    double tiles = 1;
    for (int i = 0; i < nest_.output_indices; ++i)
      tiles *= std::ceil(extent(i) / static_cast<double>(schedule_.splits[at(i)].step()));
    if (by_lane && fragment > 0.5 * static_cast<double>(target_.l1_bytes))
      stream += fragment * tiles / static_cast<double>(estimate.blocks) / kL2BytesPerSlot;
  }
  const double compute = block_compute();
  estimate.compute = (std::max(compute, stream) + 0.2 * std::min(compute, stream)) * slot_seconds_;
  estimate.stores = block_stores() * slot_seconds_;
  estimate.staging = block_staging() * slot_seconds_;
  estimate.memory = block_memory_bytes() / (target_.gbytes_per_s * 1e9 / units);
  estimate.launch = target_.launch_us * 1e-6;
  const double block = estimate.compute + estimate.stores + estimate.staging +
                       kExposedMemory * estimate.memory + 20 * slot_seconds_;
  estimate.waves = std::ceil(static_cast<double>(estimate.blocks) / units);
  const double even = static_cast<double>(estimate.blocks) / units;
  // A stolen core hurts least when there are several blocks per unit to hand out.
  const double balance = 1 + 0.05 / std::max(1.0, even);
  estimate.seconds = estimate.launch + block * estimate.waves * balance;
  return estimate;
}

}  // namespace

Estimate predict(const Nest& nest, const Schedule& schedule, const Target& target) {
  return Model(nest, schedule, target).run();
}

std::string explain(const Estimate& estimate) {
  const auto us = [](double seconds) { return seconds * 1e6; };
  return fmt::format(
      "predicted {:.1f} us\n"
      "  blocks   {} in {:.0f} waves\n"
      "  compute  {:.2f} us per block\n"
      "  staging  {:.2f} us per block\n"
      "  stores   {:.2f} us per block\n"
      "  memory   {:.2f} us per block\n"
      "  launch   {:.1f} us\n",
      us(estimate.seconds), estimate.blocks, estimate.waves, us(estimate.compute),
      us(estimate.staging), us(estimate.stores), us(estimate.memory), us(estimate.launch));
}

}  // namespace tilefuse::cost
