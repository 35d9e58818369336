// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cost/footprint.h"
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
// Cycles until a result is there: of a multiply-add, of local memory, of the first-level cache, and
// how much later what comes from the second level is; of a barrier; of a block's first
// instructions.
constexpr double kFmaLatency = 4;
constexpr double kLocalLatency = 30;
constexpr double kCacheLatency = 50;
constexpr double kMissLatency = 270;
constexpr double kBarrierLatency = 30;
constexpr double kBlockStart = 2000;
// Bytes per cycle: of local memory and first-level cache together, and of the second level as one
// multiprocessor sees it.
constexpr double kWavefrontBytes = 128;
constexpr double kMissBytes = 42;
// The last-level cache serves this many times main memory's bytes.
constexpr double kCacheRatio = 1.9;
// Instructions: around a loop's body, of a copied vector besides its accesses, of a guard, around a
// result.
constexpr double kLoopInstructions = 4.5;
constexpr double kCopyInstructions = 5;
constexpr double kGuardInstructions = 5;
// Each digit of where a copied vector lies in the tensor and in local memory: worked out once per
// block for up to so many vectors of a work-item, else at each copy.
constexpr double kDigitInstructions = 12;
constexpr double kWrittenRounds = 64;
constexpr double kResultInstructions = 7;
// A compiler unrolls a loop so far.
constexpr double kUnrolled = 2.5;

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
  // What one block takes of its multiprocessor, in cycles, and how long it takes alone.
  struct Block {
    double issue = 0;      // warp instructions
    double point = 0;      // of them of one warp per reduced point
    double wavefronts = 0; // of local memory and the first-level cache
    double miss_bytes = 0; // from the second level
    double latency = 0;    // of the slowest read per reduced point
    double exposed = 0;    // cycles in which nothing else of the block runs
    double busy = 0;
    double alone = 0;
  };

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
  double vectors(const Operand &operand) const;
  double unrolled() const;
  double shared_taps(int input) const;
  double guards(int input) const;
  double copy_width(int input) const;
  double staged_elems(int input) const;
  Block block() const;
  void add_direct(int input, Block &block) const;
  void add_staged(int input, Block &block) const;
  void add_results(Block &block) const;
  double local_bytes() const;
  void explain(const Block &block, Estimate &estimate) const;
  double registers() const;
  double resident_blocks() const;
  double source_bytes(int input) const;
  double unique_bytes(const Operand &operand) const;
  double block_barriers() const;
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

// Reads of one operand per reduced point by a work-item.
double WorkItemModel::vectors(const Operand &operand) const {
  const int vector = vector_index(schedule_);
  const bool wide = vector >= 0 && moves(operand, vector);
  return fragments(operand) / (wide ? static_cast<double>(schedule_.splits[at(vector)].vec) : 1);
}

// Reduced points of one body of the innermost loop.
double WorkItemModel::unrolled() const {
  double count = 1;
  for (std::size_t i = at(nest_.output_indices); i < nest_.indices.size(); ++i)
    count *= static_cast<double>(schedule_.splits[i].keep);
  return count;
}

// Share of the reads in an unrolled body that stay when equal addresses are read once: neighbouring
// outputs whose windows overlap.
double WorkItemModel::shared_taps(int input) const {
  double share = 1;
  for (const nest::Dim &dim : nest_.inputs[at(input)].dims) {
    double points = 1, range = 1;
    for (std::size_t i = 0; i < nest_.indices.size(); ++i) {
      const schedule::Split &split = schedule_.splits[i];
      if (dim.at.coeff[i] == 0 || split.keep == 1 || split.copy_stride() > 1)
        continue;
      points *= static_cast<double>(split.keep);
      range += static_cast<double>(std::llabs(dim.at.coeff[i]) * (split.keep - 1));
    }
    share *= std::min(1.0, range / points);
  }
  return share;
}

// Instructions that check one read of an input in place. What the innermost loop does not change is
// checked before it.
double WorkItemModel::guards(int input) const {
  if (schedule_.order.empty())
    return 0;
  const std::size_t inner = at(schedule_.order.back());
  double count = 0;
  for (const nest::Dim &dim : nest_.inputs[at(input)].dims) {
    const bool is_inside = dim.at.coeff[inner] != 0 || nest_.indices[inner].extent == 1;
    if (dim.guarded)
      count +=
          kGuardInstructions / (is_inside ? 1 : static_cast<double>(schedule_.splits[inner].tile));
  }
  return count;
}

// Elements that a work-item copies at once.
double WorkItemModel::copy_width(int input) const {
  const schedule::StageTile tile = stage_tile(nest_, schedule_, input);
  if (tile.dims.empty())
    return 1;
  const schedule::StageDim &inner = tile.dims.back();
  const nest::Dim dim = source_of(nest_, schedule_, input).dims[at(inner.dim)];
  for (const std::int64_t width : {4, 2})
    if (dim.stride == 1 && inner.range % width == 0 && (!inner.checked || dim.size % width == 0))
      return static_cast<double>(width);
  return 1;
}

// Elements that the block copies in one refill.
double WorkItemModel::staged_elems(int input) const {
  double elems = 1;
  for (const schedule::StageDim &dim : stage_tile(nest_, schedule_, input).dims)
    elems *= static_cast<double>(dim.range);
  return elems;
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
      ahead += staged_elems(static_cast<int>(k)) / items_;
  }
  return accumulators + fewest + ahead + kSpareRegisters;
}

double WorkItemModel::local_bytes() const {
  double bytes = 0;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (is_staged(schedule_.fills[k]))
      bytes += static_cast<double>(stage_bytes(nest_, schedule_, static_cast<int>(k)));
  return bytes;
}

double WorkItemModel::resident_blocks() const {
  const double local = local_bytes();
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
  const nest::Slot &slot = nest_.slots[at(operand.slot)];
  return static_cast<double>(slot.elems) * static_cast<double>(size_bytes(slot.type));
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

// An input that every work-item reads from global memory: through the first-level cache, which
// keeps what the block's next reduced points read if that fits.
void WorkItemModel::add_direct(int input, Block &block) const {
  const Operand &operand = nest_.inputs[at(input)];
  Target lines = target_;
  lines.sector_bytes = static_cast<int>(kWavefrontBytes);
  const double share = shared_taps(input);
  const double reads = vectors(operand) * share;
  const LaneAccess access = input_access(nest_, schedule_, target_, input);
  const LaneAccess line = input_access(nest_, schedule_, lines, input);
  const double points = steps() * reduced_points();
  block.point += reads * access.requests / warps_ + fragments(operand) * guards(input);
  block.wavefronts +=
      points * reads * std::max({access.requests, access.sectors / 4, line.sectors});

  Stream stream = source(nest_, schedule_, input);
  stream.line_bytes = target_.sector_bytes;
  Spans spans;
  std::vector<LoopTrips> loops;
  for (int i = 0; i < static_cast<int>(nest_.indices.size()); ++i)
    spans.push_back(
        i < nest_.output_indices ? static_cast<double>(points_of_step(nest_, schedule_, i)) : 1);
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i)
    loops.push_back({at(*i), *i < nest_.output_indices
                                 ? static_cast<double>(schedule_.splits[at(*i)].tile /
                                                       schedule_.splits[at(*i)].step())
                                 : extent(*i)});
  const double cache =
      std::max(16384.0, static_cast<double>(target_.l1_bytes) - resident_blocks() * local_bytes()) /
      resident_blocks();
  const double missed = traffic({stream}, spans, loops, cache).front();
  block.miss_bytes += missed;
  const double asked = points * reads * access.sectors * target_.sector_bytes;
  block.latency =
      std::max(block.latency, kCacheLatency + kMissLatency * std::min(1.0, missed / asked));
}

void WorkItemModel::add_staged(int input, Block &block) const {
  const Operand &operand = nest_.inputs[at(input)];
  const LaneAccess access = input_access(nest_, schedule_, target_, input);
  const double reads = vectors(operand) * shared_taps(input);
  const double points = steps() * reduced_points();
  block.point += reads * access.requests / warps_;
  block.wavefronts += points * reads * access.wavefronts;
  block.latency = std::max(block.latency, kLocalLatency);

  const double times = steps() * refills(input);
  const schedule::Stage &stage = schedule_.stages[at(input)];
  const double width = copy_width(input);
  const double rounds = std::ceil(staged_elems(input) / width / items_);
  const double copied = rounds * warps_; // vectors of warps
  const double stores = stage.layout == schedule::Layout::Plain ? 1 : width;
  double instructions = kCopyInstructions + 1 + stores; // of a copied vector
  double digits = 0;
  for (const schedule::StageDim &dim : stage_tile(nest_, schedule_, input).dims) {
    instructions += dim.checked ? kGuardInstructions : 0;
    digits += dim.range > 1 ? 1 : 0;
  }
  const bool is_loop = rounds > kWrittenRounds;
  const double addresses = is_loop ? times : 1; // how often they are worked out
  const double wait = kCacheLatency + kMissLatency;
  block.issue += copied * addresses * digits * kDigitInstructions;
  block.issue += times * copied * instructions;
  block.exposed += rounds * addresses * digits * kDigitInstructions;
  block.exposed += is_loop ? times * rounds * wait / kUnrolled : 0;
  block.wavefronts += times * copied * 2 * width;
  block.miss_bytes += times * copy_sectors(nest_, schedule_, target_, input) * target_.sector_bytes;
  const double compute = reduced_points() / std::max(1.0, refills(input));
  block.exposed +=
      times * (rounds * instructions + kBarrierLatency +
               (stage.twice ? std::max(0.0, wait - 4 * compute) : wait + kBarrierLatency));
}

// Post-ops and stores.
void WorkItemModel::add_results(Block &block) const {
  double results = 1; // of a work-item in one step
  for (int i = 0; i < nest_.output_indices; ++i)
    results *= copies(i);
  const LaneAccess access = operand_access(nest_, schedule_, target_, nest_.out);
  const double stores = vectors(nest_.out);
  const double slots = expression_slots(nest_.post) + kResultInstructions;
  block.issue += steps() * (warps_ * results * slots + stores * access.requests);
  block.wavefronts += steps() * stores * access.sectors / 4;
  block.miss_bytes += steps() * stores * access.sectors * target_.sector_bytes;
  block.exposed += steps() * ((nest_.extras.empty() ? 0 : kCacheLatency) + results * slots);
}

WorkItemModel::Block WorkItemModel::block() const {
  Block block;
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k)
    if (is_staged(schedule_.fills[at(k)]))
      add_staged(k, block);
    else
      add_direct(k, block);
  double accumulators = nest_.inputs.empty() ? 0 : 1;
  for (int i = 0; i < nest_.output_indices; ++i)
    accumulators *= copies(i);
  const double available = std::min(kMostRegisters, kRegisters / (warps_ * kWarp));
  const double spilled = std::max(0.0, registers() - available);
  const double body = std::max(unrolled(), kUnrolled);
  block.point += accumulators * (nest_.agg == program::Agg::Sum ? 1 : 2) + 2 * spilled +
                 kLoopInstructions / body;
  const double points = steps() * reduced_points();
  block.issue += warps_ * points * block.point;
  block.wavefronts += warps_ * points * 2 * spilled;
  add_results(block);
  block.busy = std::max({block.issue / kIssue, block.wavefronts, block.miss_bytes / kMissBytes});
  // A warp issues one instruction per cycle and waits once per body of its loop.
  block.alone =
      std::max(block.busy, points * (std::max(block.point, kFmaLatency) + block.latency / body)) +
      block.exposed + kBlockStart;
  return block;
}

void WorkItemModel::explain(const Block &block, Estimate &estimate) const {
  estimate.reasons = {
      {"blocks", static_cast<double>(estimate.blocks), ""},
      {"  resident on a multiprocessor", resident_blocks(), "blocks"},
      {"  registers", registers(), "of a work-item"},
      {"  local memory", local_bytes(), "bytes"},
      {"issue", block.issue / kIssue, "cycles per block"},
      {"  instructions", block.point, "per warp and reduced point"},
      {"local memory and first-level cache", block.wavefronts, "cycles per block"},
      {"second-level cache", block.miss_bytes / kMissBytes, "cycles per block"},
      {"alone", block.alone, "cycles per block"},
      {"  reads", block.latency, "cycles of latency"},
      {"  waiting for copies and barriers", block.exposed, "cycles"},
      {"waves", estimate.waves, ""},
      {"memory", estimate.memory * static_cast<double>(estimate.blocks) * 1e6, "us"},
      {"launch", estimate.launch * 1e6, "us"}};
}

Estimate WorkItemModel::run() {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double blocks = static_cast<double>(estimate.blocks);
  const double units = std::max(1, target_.compute_units);
  const Block block = this->block();
  const double rounds = std::ceil(blocks / units);
  estimate.waves = std::ceil(rounds / resident_blocks());
  const double cycles = std::hypot(rounds * block.busy, estimate.waves * block.alone);
  double bytes = unique_bytes(nest_.out);
  for (const Operand &input : nest_.inputs)
    bytes += unique_bytes(input);
  const double rate = target_.gbytes_per_s * 1e9;
  const double from_memory = std::max(0.0, bytes - static_cast<double>(target_.l2_bytes));
  const double memory =
      std::max(from_memory / rate, blocks * block.miss_bytes / (rate * kCacheRatio));
  estimate.compute = block.busy * cycle_;
  estimate.staging = block.exposed * cycle_;
  estimate.memory = memory / blocks;
  estimate.launch = target_.launch_us * 1e-6;
  estimate.seconds = estimate.launch + std::hypot(cycles * cycle_, memory);
  explain(block, estimate);
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
