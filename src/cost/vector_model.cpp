// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "cost/core_rates.h"
#include "cost/footprint.h"
#include "cost/lane_models.h"
#include "cost/register_tile.h"
#include "cost/waves.h"
#include "schedule/staging.h"

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
constexpr double kBlockCycles = 60; // calling a block
// Of a cache, what the working set of a loop can keep.
constexpr double kUsableL1 = 0.9;
constexpr double kUsableL2 = 0.6;
constexpr double kUsableL3 = 0.8;
constexpr double kWritten = 2; // a line is read before it is written
// How much dearer a stream is whose lines throw each other out of their set.
constexpr double kConflict = 8;
constexpr std::int64_t kWayBytes =
    4096; // of the first level: the part of an address that is not translated
// Bytes that memory could bring meanwhile when a stream jumps: what a prefetcher needs to follow.
constexpr double kJumpBytes = 128;
// The same within a step that walks through many runs, by how far they lie apart, up to a page.
constexpr double kLongWalk = 64;
constexpr double kApartPerByte = 16;
constexpr double kFarJumpBytes = 256;
constexpr double kMemoryJumpBytes = 120;

class VectorModel {
public:
  VectorModel(const Nest &nest, const Schedule &schedule, const Target &target,
              bool is_result_local)
      : nest_(nest), schedule_(schedule), target_(target), is_result_local_(is_result_local),
        streams_(streams(nest, schedule)), rates_(core_rates(target)),
        tile_(nest, schedule, target, streams_) {}

  Estimate run();

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
  double extent(std::size_t i) const { return static_cast<double>(nest_.indices[i].extent); }
  std::int64_t grid(std::size_t i) const {
    const std::int64_t tile = schedule_.splits[i].tile;
    return (nest_.indices[i].extent + tile - 1) / tile;
  }
  Spans step_spans() const;
  std::vector<LoopTrips> block_loops() const;
  std::vector<LoopTrips> grid_loops() const;
  void add_core(const std::vector<std::int64_t> &points, Block &block) const;
  double fills(std::size_t input) const;
  double stage_cycles() const;
  double l2_bytes() const;
  double l3_bytes() const;
  double memory_bytes() const;
  double far_bytes(const Cache &cache, bool from_memory) const;
  double conflict(std::size_t k) const;
  double jumps(const Stream &stream, bool from_memory) const;
  bool walks() const;
  double block_seconds(const Block &block) const;
  Block block_of(const std::vector<bool> &is_edge) const;
  Estimate estimate(double busy, double total);
  void explain(Estimate &estimate) const;

  const Nest &nest_;
  const Schedule &schedule_;
  const Target &target_;
  bool is_result_local_; // a staging buffer
  std::vector<Stream> streams_;
  CoreRates rates_;
  RegisterTileCost tile_;
  Block mean_;         // over all blocks
  bool walks_ = false; // a step walks through many runs of some input
};

Spans VectorModel::step_spans() const {
  Spans spans;
  for (std::size_t i = 0; i < nest_.indices.size(); ++i)
    spans.push_back(i < outputs()
                        ? std::min(static_cast<double>(schedule_.splits[i].step()), extent(i))
                        : extent(i));
  return spans;
}

std::vector<LoopTrips> VectorModel::block_loops() const {
  std::vector<LoopTrips> loops;
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    const std::size_t index = static_cast<std::size_t>(*i);
    if (index >= outputs())
      continue;
    const double step =
        std::min(static_cast<double>(schedule_.splits[index].step()), extent(index));
    const double trips = extent(index) / static_cast<double>(grid(index)) / step;
    if (trips > 1)
      loops.push_back({index, trips});
  }
  return loops;
}

std::vector<LoopTrips> VectorModel::grid_loops() const {
  std::vector<LoopTrips> loops;
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    const std::size_t index = static_cast<std::size_t>(*i);
    if (index < outputs() && grid(index) > 1)
      loops.push_back({index, static_cast<double>(grid(index))});
  }
  return loops;
}

// Whole and partial steps of every index at their own sizes.
void VectorModel::add_core(const std::vector<std::int64_t> &points, Block &block) const {
  std::vector<double> copies(outputs(), 1);
  const auto walk = [&](const auto &self, std::size_t i, double times, bool partial) -> void {
    if (i == outputs()) {
      block.accumulate += times * (tile_.accumulate_cycles(copies) + tile_.overhead_cycles());
      block.store += times * tile_.store_cycles(copies, partial);
      return;
    }
    const schedule::Split &split = schedule_.splits[i];
    const std::int64_t whole = points[i] / split.step();
    const std::int64_t rest = points[i] % split.step();
    copies[i] = static_cast<double>(split.keep);
    if (whole > 0)
      self(self, i + 1, times * static_cast<double>(whole), partial);
    copies[i] = std::ceil(static_cast<double>(rest) / static_cast<double>(split.lane));
    if (rest > 0)
      self(self, i + 1, times, partial || rest % split.lane != 0);
  };
  walk(walk, 0, 1, false);
}

// Times that a block fills the buffer of an input: once, or in each chunk of each step.
double VectorModel::fills(std::size_t input) const {
  if (schedule_.stages[input].at < 0)
    return 1;
  double count = 1;
  for (std::size_t i = 0; i < nest_.indices.size(); ++i) {
    const schedule::Split &split = schedule_.splits[i];
    const bool is_output = i < outputs();
    count *=
        std::ceil(is_output ? static_cast<double>(split.tile) / static_cast<double>(split.step())
                            : extent(i) / static_cast<double>(split.tile));
  }
  return count;
}

double VectorModel::stage_cycles() const {
  double cycles = 0;
  const double width = static_cast<double>(vector_width(schedule_));
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) {
    const int input = static_cast<int>(k);
    if (!is_staged(schedule_.fills[k]) || schedule_.fills[k] == schedule::Fill::Produced)
      continue;
    const schedule::StageTile tile = stage_tile(nest_, schedule_, input);
    if (tile.dims.empty())
      continue;
    const schedule::StageDim &inner = tile.dims.back();
    const double range = static_cast<double>(inner.range);
    const double rows = static_cast<double>(tile.elems) / range;
    const schedule::Source source = source_of(nest_, schedule_, input);
    const bool is_contiguous = source.dims[static_cast<std::size_t>(inner.dim)].stride == 1;
    const double whole = is_contiguous ? std::floor(range / width) : 0;
    const double rest = range - whole * width;
    cycles += fills(k) * rows * (kRowCycles + whole * kCopyCycles + rest * kElementCycles);
  }
  return cycles;
}

// How often the lines of a step are brought in where they crowd into few sets of the first level,
// as pixels do that lie a multiple of a way apart: for every read.
double VectorModel::conflict(std::size_t k) const {
  const std::int64_t ways = std::max<std::int64_t>(2, target_.l1_bytes / kWayBytes);
  if (k >= nest_.inputs.size() ||
      lines_in_a_set(streams_[k], schedule_, nest_.output_indices, kWayBytes) < ways)
    return 1;
  std::vector<double> copies;
  for (std::size_t i = 0; i < outputs(); ++i)
    copies.push_back(static_cast<double>(schedule_.splits[i].keep));
  const double lines = streams_[k].bytes(step_spans()) / streams_[k].line_bytes;
  return std::clamp(tile_.loads(k, copies) / lines, 1.0, kConflict);
}

// From the second to the first level, per block.
double VectorModel::l2_bytes() const {
  const double size = static_cast<double>(target_.l1_bytes);
  const Cache l1{kUsableL1 * size, size / rates_.l1_ways};
  const std::vector<double> moved = traffic(streams_, step_spans(), block_loops(), l1);
  double bytes = 0;
  for (std::size_t k = 0; k < streams_.size(); ++k)
    bytes += moved[k] * (streams_[k].is_written ? kWritten : conflict(k));
  return bytes;
}

// How much dearer bytes are that come in short runs: from the third level where neighbouring tiles
// read them so; from there and from memory where a step walks through many runs.
double VectorModel::jumps(const Stream &stream, bool from_memory) const {
  const Stream::Piece step = stream.piece(step_spans());
  const bool is_walk = step.repeats >= kLongWalk;
  if (from_memory)
    return is_walk ? 1 + kMemoryJumpBytes / step.run : 1;
  Spans spans = step_spans();
  const std::vector<LoopTrips> loops = block_loops();
  if (!loops.empty())
    spans[loops.front().index] *= loops.front().trips;
  const double far = is_walk ? std::min(step.apart / kApartPerByte, kFarJumpBytes) : 0;
  return 1 + std::max(kJumpBytes / stream.piece(spans).run, far / step.run);
}

// Whether a step walks through many runs of some input, which no prefetcher follows.
bool VectorModel::walks() const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const Stream &stream) {
    return !stream.is_staged && stream.piece(step_spans()).repeats >= kLongWalk;
  });
}

// Into a cache beyond the first level, per block. A staging buffer comes from nowhere, its source
// does, once per block; but both must fit while it is filled.
double VectorModel::far_bytes(const Cache &cache, bool from_memory) const {
  const std::vector<LoopTrips> loops = block_loops();
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  std::vector<LoopTrips> all = loops;
  const std::vector<LoopTrips> outer = grid_loops();
  all.insert(all.end(), outer.begin(), outer.end());
  const std::vector<double> moved = traffic(streams_, step_spans(), all, cache);
  const std::vector<double> in_block = traffic(streams_, step_spans(), loops, cache);
  Spans block_spans = step_spans();
  for (const LoopTrips &loop : loops)
    block_spans[loop.index] *= loop.trips;
  double bytes = 0;
  for (std::size_t k = 0; k < streams_.size(); ++k) {
    if (streams_[k].is_written && is_result_local_)
      continue;
    if (!streams_[k].is_staged) {
      bytes += moved[k] / blocks * (streams_[k].is_written ? kWritten : 1) *
               jumps(streams_[k], from_memory);
      continue;
    }
    const double buffer = streams_[k].bytes(block_spans);
    bytes += std::max(in_block[k] - buffer, 0.0);
    if (schedule_.fills[k] != schedule::Fill::Produced)
      bytes += source(nest_, schedule_, static_cast<int>(k)).bytes(block_spans);
    bytes += 2 * buffer > cache.bytes ? kWritten * buffer : 0;
  }
  return bytes;
}

// From the third to the second level, per block.
double VectorModel::l3_bytes() const {
  const double size = static_cast<double>(target_.l2_bytes);
  return far_bytes({kUsableL2 * size, size / rates_.l2_ways}, false);
}

// From memory to the third level, per block: nothing where that holds all that the nest touches.
double VectorModel::memory_bytes() const {
  const double usable = kUsableL3 * rates_.l3_bytes;
  return bytes_in_memory(nest_, schedule_, streams_) <= usable * std::max(1, target_.compute_units)
             ? 0
             : far_bytes({usable, 0}, true);
}

double VectorModel::block_seconds(const Block &block) const {
  const double core = (block.accumulate + block.store + block.stage + kBlockCycles) / rates_.hertz;
  const double l2 = block.l2_bytes / rates_.l2_bytes_per_cycle / rates_.hertz;
  const double l3 = block.l3_bytes / rates_.l3_bytes_per_s;
  const double memory = block.memory_bytes / rates_.memory_bytes_per_s;
  const double longest = std::max({core, l2, l3, memory});
  const auto beside = [&](double time) { return time < longest ? time : 0; };
  return longest + kUnhidden * (beside(core) + beside(l2)) +
         (walks_ ? kUnhiddenWalk : kUnhidden) * (beside(l3) + beside(memory));
}

void VectorModel::explain(Estimate &estimate) const {
  std::vector<double> copies;
  for (std::size_t i = 0; i < outputs(); ++i)
    copies.push_back(static_cast<double>(schedule_.splits[i].keep));
  const StepCost step = tile_.step(copies);
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
VectorModel::Block VectorModel::block_of(const std::vector<bool> &is_edge) const {
  std::vector<std::int64_t> size(outputs(), 1);
  double share = static_cast<double>(schedule::blocks(nest_, schedule_));
  for (std::size_t i = 0; i < outputs(); ++i) {
    const std::int64_t tile = schedule_.splits[i].tile;
    const std::int64_t all = nest_.indices[i].extent;
    size[i] = is_edge[i] ? all % tile : std::min(tile, all);
    share *= static_cast<double>(size[i]) / static_cast<double>(all);
  }
  Block block;
  add_core(size, block);
  block.stage = mean_.stage * share;
  block.l2_bytes = mean_.l2_bytes * share;
  block.l3_bytes = mean_.l3_bytes * share;
  block.memory_bytes = mean_.memory_bytes * share;
  return block;
}

Estimate VectorModel::run() {
  walks_ = walks();
  mean_.stage = stage_cycles();
  mean_.l2_bytes = l2_bytes();
  mean_.l3_bytes = l3_bytes();
  mean_.memory_bytes = memory_bytes();
  std::vector<GridDim> dims;
  std::vector<std::size_t> index_of;
  for (int i : schedule_.order) {
    const std::size_t index = static_cast<std::size_t>(i);
    if (index >= outputs())
      continue;
    dims.push_back({grid(index), nest_.indices[index].extent % schedule_.splits[index].tile != 0});
    index_of.push_back(index);
  }
  double total = 0; // seconds of all blocks
  const auto block_time = [&](const std::vector<bool> &edges) {
    std::vector<bool> is_edge(outputs(), false);
    double count = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      is_edge[index_of[d]] = edges[d];
      const double blocks = static_cast<double>(dims[d].blocks - (dims[d].has_edge ? 1 : 0));
      count *= edges[d] ? 1 : blocks;
    }
    const Block block = block_of(is_edge);
    mean_.accumulate += count * block.accumulate;
    mean_.store += count * block.store;
    total += count * block_seconds(block);
    return block_seconds(block);
  };
  const double busy = makespan(dims, std::max(1, target_.compute_units), block_time);
  return estimate(busy, total);
}

Estimate VectorModel::estimate(double busy, double total) {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double blocks = static_cast<double>(estimate.blocks);
  mean_.accumulate /= blocks;
  mean_.store /= blocks;
  estimate.compute = mean_.accumulate / rates_.hertz;
  estimate.stores = mean_.store / rates_.hertz;
  estimate.staging = mean_.stage / rates_.hertz;
  estimate.memory = mean_.l3_bytes / rates_.l3_bytes_per_s;
  estimate.launch = target_.launch_us * 1e-6;
  estimate.waves = busy * blocks / total;
  estimate.seconds = estimate.launch + busy;
  explain(estimate);
  return estimate;
}

} // namespace

Estimate predict_vector(const Nest &nest, const Schedule &schedule, const Target &target,
                        bool is_result_local) {
  return VectorModel(nest, schedule, target, is_result_local).run();
}

} // namespace tilefuse::cost
