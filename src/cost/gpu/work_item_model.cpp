// SPDX-License-Identifier: Apache-2.0
#include "cost/gpu/work_item_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "cost/expression.h"
#include "cost/footprint.h"
#include "cost/gpu/lane_access.h"
#include "cost/gpu/work_item_shape.h"
#include "nest/maps_inputs.h"
#include "schedule/blocks.h"
#include "schedule/lane_reduction.h"
#include "schedule/result_tile.h"
#include "schedule/result_vectors.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using nest::Operand;

// Instructions: around a loop's body, of a copied vector besides its accesses, of its guard, around a
// result.
constexpr double kLoopInstructions = 4.5;
constexpr double kCopyInstructions = 5;
constexpr double kGuardInstructions = 5;
// What an asynchronous copy of a single element takes more than a work-item's own.
constexpr double kNarrowInstructions = 12;
// Of a read in place: a test of its subscript, and two registers of the value that it has outside.
constexpr double kTestInstructions = 2;
constexpr double kFilledRegisters = 2;
// Of a work-item before it reads anything: where its results lie, and bounds.
constexpr double kStartInstructions = 60;
// Each digit of where a copied vector lies in the tensor and in local memory: worked out once per
// block, or at each copy in a long loop of rounds.
constexpr double kDigitInstructions = 12;
constexpr double kResultInstructions = 7;
// The same of a result that is taken from where it was turned; and sectors that its runs tear.
constexpr double kTurnedDigitInstructions = 6;
constexpr double kTornSectors = 0.5;
// Bytes of a tensor of which blocks read parts of lines, over those of whole lines.
constexpr double kTornLines = 1.25;
// Of a work-item in a round of a lane reduction, besides its accumulators.
constexpr double kRoundInstructions = 6;
// Of the first-level cache, that an operand may take to stay there.
constexpr double kKeptShare = 0.5;
// A compiler unrolls a loop so far.
constexpr double kUnrolled = 2.5;

class WorkItemModel : public WorkItemShape {
public:
  explicit WorkItemModel(const LaneView &view, std::vector<bool> is_near = {})
      : WorkItemShape(view), is_near_(std::move(is_near)),
        cycle_(2 * rates_.schedulers * rates_.scheduler_lanes / (target_.gflops_per_unit * 1e9)) {}

  Estimate run(const std::vector<MadeTile> &made);
  double least_seconds() const;
  Demands demands();

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
    double alone = 0; // without its start
  };

  bool is_map() const { return nest_.inputs.empty(); }
  double guards(int input) const;
  double conversions(int input) const;
  double memory_bytes(const Operand &input) const;
  double of_unit(double bytes) const;
  void add_direct(int input, Block &block) const;
  void add_staged(int input, Block &block) const;
  void add_least_copies(int input, Block &block) const;
  double wait_of(const schedule::Pipe &stage) const;
  double copy_wait(int input) const;
  void add_turned(double results, Block &block) const;
  bool moves_vector(const Operand &operand) const;
  double result_slots() const;
  double term_slots() const;
  double product_slots() const;
  double first_level() const;
  double tested_copies() const;
  double missed_bytes(const Operand &extra, double asked) const;
  void add_operands(Block &block) const;
  void add_results(Block &block) const;
  void add_lane_rounds(Block &block) const;
  double busy_of(const Block &block) const;
  double points() const { return steps() * reduced_points(); }
  void add_products(double spilled, Block &block) const;
  void finish(Block &block) const;
  double rounds() const;
  double cycles(const Block &block, double waves) const;
  double seconds_from_l2(const Block &block) const;
  Block block();
  Block least_block() const;
  Block block_with(const std::vector<MadeTile> &made);
  static double least_resident(double own, const std::vector<MadeTile> &made);
  void explain(const Block &block, Estimate &estimate) const;

  std::vector<bool> is_near_; // by input, none: none
  double cycle_ = 1;          // seconds
  double resident_ = 1;       // blocks of a multiprocessor, once a block is priced
};

// Instructions that check one read of an input in place, and give it the value that it has outside.
// What the innermost loop does not change is checked before it.
double WorkItemModel::guards(int input) const {
  if (schedule_.order.empty())
    return 0;
  const IndexId inner = schedule_.order.back();
  double count = 0;
  for (const nest::Dim &dim : nest_.inputs[at(input)].dims) {
    const bool is_inside = dim.at.coeff[inner] != 0 || extent(inner) == 1;
    if (dim.guarded)
      count +=
          kTestInstructions / (is_inside ? 1 : static_cast<double>(schedule_.splits[inner].tile));
  }
  return count == 0 ? 0 : count + std::max(1.0, read_registers(input) / kFilledRegisters);
}

// Instructions that make what one read of an input brings values to compute with.
double WorkItemModel::conversions(int input) const {
  const bool is_half =
      size_bytes(read_type(input)) < size_bytes(DType::F32) && is_float(read_type(input));
  return is_half ? fragments(input) / vectors(input) : 0;
}

// What main memory moves of an input: more where the lines of a row are shared by blocks.
double WorkItemModel::memory_bytes(const Operand &input) const {
  const nest::Linear at = nest::flat(input, nest_.indices.size());
  const auto size = static_cast<double>(size_bytes(type_of(nest_, input)));
  for (const IndexId i : output_indices(nest_))
    if (std::llabs(at.coeff[i]) == 1 && static_cast<double>(schedule_.splits[i].tile) < extent(i) &&
        static_cast<double>(schedule_.splits[i].tile) * size < rates_.local_bytes_per_cycle)
      return unique_bytes(input) * kTornLines;
  return unique_bytes(input);
}

// Bytes of the first-level cache that a block has for itself.
double WorkItemModel::first_level() const {
  return std::max(16384.0, static_cast<double>(target_.l1_bytes) - resident_ * local_bytes()) /
         resident_;
}

// A block's share of what stays in the first-level cache for all blocks of a multiprocessor.
double WorkItemModel::of_unit(double bytes) const {
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  return bytes / std::ceil(blocks / std::max(1, target_.compute_units));
}

// An input that every work-item reads from global memory: through the first-level cache, which
// keeps what the block's next reduced points read if that fits, and what is small as a whole, as the
// filter of a depthwise layer, for all blocks.
void WorkItemModel::add_direct(int input, Block &block) const {
  const Operand &operand = nest_.inputs[at(input)];
  const double share = shared_taps(input);
  const double reads = vectors(input) * share;
  const LaneAccess access = input_access(view_, input, place(input));
  const LaneAccess line =
      input_access_by(view_, input, place(input), static_cast<int>(rates_.local_bytes_per_cycle));
  const double points = this->points();
  block.point += reads * (access.requests / warps_ + guards(input) + conversions(input));
  block.wavefronts +=
      points * reads * std::max({access.requests, access.sectors / 4, line.sectors});

  Stream stream = source(nest_, schedule_, input);
  stream.line_bytes = target_.sector_bytes;
  Spans spans;
  std::vector<LoopTrips> loops;
  for (const IndexId i : nest_.indices.ids())
    spans.push_back(static_cast<double>(is_output(nest_, i) ? points_of_step(nest_, schedule_, i)
                                                            : schedule_.splits[i].copy_stride()));
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i)
    loops.push_back({*i, is_output(nest_, *i) ? static_cast<double>(schedule_.splits[*i].tile /
                                                                    schedule_.splits[*i].step())
                                              : std::max(1.0, extent(*i) / spans[*i])});
  double missed = traffic({stream}, spans, loops, {first_level()}).front();
  const double whole = static_cast<double>(slot_of(nest_, operand).elems) *
                       static_cast<double>(size_bytes(read_type(input)));
  if (whole < kKeptShare * static_cast<double>(target_.l1_bytes))
    missed = std::min(missed, of_unit(whole));
  block.miss_bytes += !is_near_.empty() && is_near_[at(input)] ? 0 : missed;
  const double asked = points * reads * access.sectors * target_.sector_bytes;
  const double latency =
      rates_.l1_latency_cycles + rates_.l2_latency_cycles * std::min(1.0, missed / asked);
  block.latency = std::max(block.latency, latency);
}

void WorkItemModel::add_staged(int input, Block &block) const {
  const std::int64_t near = near_copies(input);
  const LaneAccess access = input_access(view_, input, place(input), near);
  const double reads = vectors(input) * shared_taps(input) / static_cast<double>(near);
  const double points = this->points();
  block.point += reads * access.requests / warps_;
  block.wavefronts += points * reads * access.wavefronts;
  block.latency = std::max(block.latency, rates_.local_latency_cycles);
  if (schedule_.fills[at(input)] == schedule::Fill::Produced) { // who makes it puts it there
    block.exposed += steps() * refills(input) * rates_.barrier_cycles;
    return;
  }

  const double times = steps() * refills(input);
  const schedule::Pipe &stage = schedule_.pipes[at(input)];
  const double width = copy_width(input);
  const double rounds = copy_rounds(input);
  const double copied = rounds * warps_; // vectors of warps
  const bool is_narrow = stage.is_async() && width == 1;
  const double stores = stage.layout == schedule::Layout::Plain || stage.is_async() ? 1 : width;
  // Of a copied vector.
  double instructions = kCopyInstructions + 1 + stores + (is_narrow ? kNarrowInstructions : 0);
  double digits = 0;
  for (const schedule::StageDim &dim : place(input).tile.dims) {
    instructions += dim.checked ? kGuardInstructions : 0;
    digits += dim.range > 1 ? 1 : 0;
  }
  const bool is_loop = is_long_loop(input);
  const double addresses = is_loop ? times : 1; // how often they are worked out
  block.issue += copied * addresses * digits * kDigitInstructions;
  block.issue += times * copied * instructions;
  block.exposed += rounds * addresses * digits * kDigitInstructions;
  block.exposed += is_loop && !stage.is_async() ? times * rounds * wait_of(stage) / kUnrolled : 0;
  block.wavefronts += times * copied * 2 * width;
  block.miss_bytes += times * copy_sectors(view_, input, place(input)) * target_.sector_bytes;
  block.exposed += times * (rounds * instructions + rates_.barrier_cycles + copy_wait(input));
}

// Cycles from a copy's read to its value.
double WorkItemModel::wait_of(const schedule::Pipe &stage) const {
  return rates_.l1_latency_cycles + rates_.l2_latency_cycles +
         (stage.is_async() ? rates_.async_copy_later_cycles : 0);
}

// Of a refill, in which nothing is computed, besides the barrier behind it.
double WorkItemModel::copy_wait(int input) const {
  const schedule::Pipe &stage = schedule_.pipes[at(input)];
  const double compute = reduced_points() / std::max(1.0, refills(input));
  const double ahead = std::max(0, stage.stages - 1); // chunks
  return stage.is_ahead() ? std::max(0.0, wait_of(stage) - 4 * compute * ahead)
                          : wait_of(stage) + rates_.barrier_cycles;
}

// Operations on a result.
double WorkItemModel::result_slots() const {
  const double term = maps_inputs(nest_) ? term_slots() : 0;
  return term + expression_slots(nest_.post, true, [&](int operand) {
           const Operand &extra = nest_.extras[at(operand)];
           return moves_vector(extra) ? 1 : 1 / static_cast<double>(result_width(nest_, schedule_));
         });
}

// Operations on a point of a term, besides the sum that it joins.
double WorkItemModel::term_slots() const {
  if (nest_.comb != program::Comb::Term)
    return 0;
  return expression_slots(nest_.term, true, [&](int operand) {
    return moves_vector(nest_.inputs[at(operand)])
               ? 1
               : 1 / static_cast<double>(vector_width(schedule_));
  });
}

// Of the sum of a point, in multiply-adds: a dot product takes as many as start while it does.
double WorkItemModel::product_slots() const {
  if (schedule_.dot == nullptr)
    return nest_.agg == program::Agg::Sum ? 1 : 2;
  return schedule_.dot->products * target_.gflops_per_unit /
         find_dot(target_, *schedule_.dot)->gops_per_unit;
}

bool WorkItemModel::moves_vector(const Operand &operand) const {
  const std::optional<IndexId> vector = vector_index(schedule_);
  return vector && moves(operand, *vector);
}

// Results of a work-item's step that are turned: put down along the lanes, and taken by number along
// the result.
void WorkItemModel::add_turned(double results, Block &block) const {
  const schedule::ResultTile tile = result_tile(nest_, schedule_);
  const double slots = result_slots() + kResultInstructions;
  const double run = static_cast<double>(tile.run_points());
  const double runs = static_cast<double>(tile.runs());
  const double rounds = std::ceil(run * runs / items_);
  const double digits = static_cast<double>(tile.run.size() + 1 + tile.others.size());
  const double taken = kCopyInstructions + digits * kTurnedDigitInstructions;
  const nest::Linear out = nest::flat(nest_.out, nest_.indices.size());
  const double size =
      static_cast<double>(size_bytes(type_of(nest_, nest_.out)) * std::llabs(tile.run_stride));
  const bool goes_on = out.coeff[tile.lane] == tile.run_stride * tile.run_points();
  const double piece =
      run * (goes_on ? static_cast<double>(tile.dims[tile.lane].points) : 1) * size;
  const double sector = target_.sector_bytes;
  const double sectors = run * runs * size / piece * (std::ceil(piece / sector) + kTornSectors);
  block.issue += steps() * warps_ * (results * slots + rounds * taken);
  block.wavefronts +=
      steps() *
      (warps_ * (results * static_cast<double>(vector_width(schedule_)) + rounds) + sectors / 4);
  block.miss_bytes += steps() * sectors * sector;
  block.exposed += steps() * (results * slots + rounds * taken + 2 * rates_.barrier_cycles +
                              rates_.local_latency_cycles);
}

// Bytes of an extra that come from the second level, of `asked`: what several warps of a block read
// comes once where it fits the first level, and what is small as a whole once per multiprocessor.
double WorkItemModel::missed_bytes(const Operand &extra, double asked) const {
  Stream stream(walked_dims(nest_, extra), nest_.indices.size(),
                static_cast<double>(size_bytes(type_of(nest_, extra))));
  stream.line_bytes = target_.sector_bytes;
  Spans spans(nest_.indices.size(), 1);
  for (const IndexId i : output_indices(nest_))
    spans[i] = std::min(extent(i), static_cast<double>(schedule_.splits[i].tile));
  const double of_block = stream.bytes(spans);
  if (of_block > first_level())
    return asked;
  const double whole = unique_bytes(extra);
  return std::min({asked, of_block, whole > first_level() ? of_block : of_unit(whole)});
}

// What a map reads, a vector at a time.
void WorkItemModel::add_operands(Block &block) const {
  for (const Operand &extra : nest_.extras) {
    const LaneAccess access = operand_access(view_, extra);
    const double reads = steps() * vectors(extra);
    block.issue += reads * access.requests;
    block.wavefronts += reads * access.sectors / 4;
    block.miss_bytes += missed_bytes(extra, reads * access.sectors * target_.sector_bytes);
  }
}

// Copies of a work-item's step that each stand under a condition, and so wait one after the other for
// what post-ops read; 1: none does.
double WorkItemModel::tested_copies() const {
  double count = 1;
  for (const IndexId i : output_indices(nest_)) {
    const schedule::Split &split = schedule_.splits[i];
    if (static_cast<std::int64_t>(extent(i)) % split.tile != 0)
      count *= copies(i) / static_cast<double>(split.vec);
  }
  return count;
}

// Post-ops and stores.
void WorkItemModel::add_results(Block &block) const {
  double results = 1; // of a work-item in one step
  for (const IndexId i : output_indices(nest_))
    results *= copies(i);
  if (schedule_.store == schedule::Store::Local)
    return add_turned(results, block);
  const std::int64_t together = stored_together(nest_, schedule_);
  const LaneAccess access = operand_access(view_, nest_.out, together);
  const double stores = vectors(nest_.out) / static_cast<double>(together);
  // What is around a result stands once around a vector of them.
  const double slots = result_slots() + vectors(nest_.out) / results * kResultInstructions;
  block.issue += steps() * (warps_ * results * slots + stores * access.requests);
  block.wavefronts += steps() * stores * access.sectors / 4;
  block.miss_bytes += steps() * stores * access.sectors * target_.sector_bytes;
  const double waits = nest_.extras.empty() ? 0 : tested_copies();
  block.exposed += steps() * (waits * rates_.l1_latency_cycles + results * slots);
}

// Accumulators of a vector folded, put into the buffer, and combined in rounds.
void WorkItemModel::add_lane_rounds(Block &block) const {
  const double sums = accumulators() / reduced_vector();
  block.issue += steps() * warps_ * (accumulators() - sums);
  const std::size_t count = lane_rounds(nest_, schedule_).size();
  if (count == 0)
    return;
  const double rounds = static_cast<double>(count);
  const double each = kRoundInstructions + 3 * sums;
  block.issue += steps() * warps_ * (sums + rounds * each);
  block.wavefronts += steps() * warps_ * sums * (1 + 2 * rounds);
  block.exposed +=
      steps() * (rounds + 1) * (each + rates_.barrier_cycles + rates_.local_latency_cycles);
}

WorkItemModel::Block WorkItemModel::block() {
  resident_ = resident_blocks();
  Block block;
  block.issue = warps_ * kStartInstructions;
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k)
    if (is_staged(schedule_.fills[at(k)]))
      add_staged(k, block);
    else
      add_direct(k, block);
  add_products(spilled_registers(), block);
  add_lane_rounds(block);
  if (is_map())
    add_operands(block);
  add_results(block);
  finish(block);
  return block;
}

// What all reduced points take besides their reads; registers that are `spilled` are read and
// written at each.
void WorkItemModel::add_products(double spilled, Block &block) const {
  const bool accumulates = !nest_.inputs.empty() && !maps_inputs(nest_);
  const double accumulators = accumulates ? this->accumulators() : 0;
  block.point += accumulators * (product_slots() + term_slots()) + 2 * spilled +
                 kLoopInstructions / std::max(unrolled(), kUnrolled);
  block.issue += warps_ * points() * block.point;
  block.wavefronts += warps_ * points() * 2 * spilled;
}

// A warp issues one instruction per cycle and waits once per body of its loop.
void WorkItemModel::finish(Block &block) const {
  block.busy = busy_of(block);
  block.alone = std::max(block.busy, points() * (std::max(block.point, rates_.fma_latency_cycles) +
                                                 block.latency / std::max(unrolled(), kUnrolled))) +
                block.exposed;
}

// By the widest vectors, without checks and conflicts.
void WorkItemModel::add_least_copies(int input, Block &block) const {
  constexpr double kWidest = 4;
  const double times = steps() * refills(input);
  const double elems = staged_elems(input);
  const double rounds = std::ceil(elems / kWidest / items_);
  const double instructions = kCopyInstructions + 2;
  block.issue += times * rounds * warps_ * instructions;
  block.wavefronts += times * warps_ * 2 * elems / items_;
  block.miss_bytes += times * elems * static_cast<double>(copied_bytes(nest_, schedule_, input));
  block.exposed += times * (rounds * instructions + rates_.barrier_cycles + copy_wait(input));
}

// Of a nest with inputs: every read takes an instruction of each warp, and a wavefront.
WorkItemModel::Block WorkItemModel::least_block() const {
  Block block;
  block.issue = warps_ * kStartInstructions;
  const double requests = std::ceil(items_ / std::max(1, target_.warp));
  for (int k = 0; k < static_cast<int>(nest_.inputs.size()); ++k) {
    const bool is_local = is_staged(schedule_.fills[at(k)]);
    const double reads = vectors(k) * shared_taps(k) / most_near_copies(k);
    block.point += reads * requests / warps_;
    block.wavefronts += points() * reads * requests;
    block.latency =
        std::max(block.latency, is_local ? rates_.local_latency_cycles : rates_.l1_latency_cycles);
    if (is_local)
      add_least_copies(k, block);
  }
  add_products(spilled_registers(), block);
  const double results = steps() * accumulators() / reduced_vector() * result_slots();
  block.issue += warps_ * results;
  block.exposed += results;
  finish(block);
  return block;
}

double WorkItemModel::busy_of(const Block &block) const {
  return std::max({block.issue / rates_.schedulers, block.wavefronts,
                   block.miss_bytes / rates_.l2_bytes_per_cycle});
}

// With what it runs before its own tile.
WorkItemModel::Block WorkItemModel::block_with(const std::vector<MadeTile> &made) {
  Block block = this->block();
  for (const MadeTile &tile : made) {
    const Block one = WorkItemModel(tile.view, tile.is_near).block();
    const double times =
        tile.runs * static_cast<double>(schedule::blocks(tile.view.nest, tile.view.schedule));
    block.issue += times * one.issue;
    block.wavefronts += times * one.wavefronts;
    block.miss_bytes += times * one.miss_bytes;
    block.exposed += times * one.exposed;
    block.alone += times * one.alone;
  }
  block.busy = busy_of(block);
  return block;
}

double WorkItemModel::least_resident(double own, const std::vector<MadeTile> &made) {
  for (const MadeTile &tile : made)
    own = std::min(own, WorkItemShape(tile.view).resident_blocks());
  return own;
}

void WorkItemModel::explain(const Block &block, Estimate &estimate) const {
  estimate.reasons = {
      {"blocks", static_cast<double>(estimate.blocks), ""},
      {"  resident on a multiprocessor", resident_, "blocks"},
      {"  registers", registers(), "of a work-item"},
      {"  local memory", local_bytes(), "bytes"},
      {"issue", block.issue / rates_.schedulers, "cycles per block"},
      {"  instructions", block.point, "per warp and reduced point"},
      {"local memory and first-level cache", block.wavefronts, "cycles per block"},
      {"second-level cache", block.miss_bytes / rates_.l2_bytes_per_cycle, "cycles per block"},
      {"alone", block.alone + rates_.block_interval_cycles, "cycles per block"},
      {"  reads", block.latency, "cycles of latency"},
      {"  waiting for copies and barriers", block.exposed, "cycles"},
      {"waves", estimate.waves, ""},
      {"memory", estimate.memory * static_cast<double>(estimate.blocks) * 1e6, "us"},
      {"launch", estimate.launch * 1e6, "us"}};
}

// Blocks of the busiest multiprocessor.
double WorkItemModel::rounds() const {
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  return std::ceil(blocks / std::max(1, target_.compute_units));
}

// Blocks start one after the other; one that follows another waits for its turn and not for the
// first start.
double WorkItemModel::cycles(const Block &block, double waves) const {
  const double alone = block.alone + rates_.block_interval_cycles;
  const double started = rounds() * rates_.block_interval_cycles;
  return std::max(std::hypot(rounds() * block.busy, waves * alone), started) +
         rates_.block_start_cycles - rates_.block_interval_cycles;
}

double WorkItemModel::least_seconds() const {
  const double waves = std::ceil(rounds() / most_resident_blocks());
  const Block block = least_block();
  return target_.launch_us * 1e-6 +
         std::hypot(cycles(block, waves) * cycle_, seconds_from_l2(block));
}

// What all blocks miss, from the second-level cache.
double WorkItemModel::seconds_from_l2(const Block &block) const {
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  return blocks * block.miss_bytes / (target_.gbytes_per_s * 1e9 * rates_.l2_over_memory);
}

Estimate WorkItemModel::run(const std::vector<MadeTile> &made) {
  Estimate estimate;
  estimate.blocks = schedule::blocks(nest_, schedule_);
  const double blocks = static_cast<double>(estimate.blocks);
  const Block block = block_with(made);
  estimate.waves = std::ceil(rounds() / least_resident(resident_, made));
  double bytes = unique_bytes(nest_.out);
  for (const Operand &input : nest_.inputs)
    bytes += memory_bytes(input);
  if (is_map())
    for (const Operand &extra : nest_.extras)
      bytes += unique_bytes(extra);
  const double rate = target_.gbytes_per_s * 1e9;
  const double from_memory = std::max(0.0, bytes - static_cast<double>(target_.l2_bytes));
  const double memory = std::max(from_memory / rate, seconds_from_l2(block));
  estimate.compute = block.busy * cycle_;
  estimate.staging = block.exposed * cycle_;
  estimate.memory = memory / blocks;
  estimate.launch = target_.launch_us * 1e-6;
  estimate.seconds = estimate.launch + std::hypot(cycles(block, estimate.waves) * cycle_, memory);
  explain(block, estimate);
  return estimate;
}

Demands WorkItemModel::demands() {
  const Estimate all = run({});
  const Block block = this->block();
  const double blocks = static_cast<double>(all.blocks);
  const double rounds = std::ceil(blocks / std::max(1, target_.compute_units)) * cycle_;
  return {{"instruction issue", rounds * block.issue / rates_.schedulers},
          {"local memory and first-level cache", rounds * block.wavefronts},
          {"second-level cache", rounds * block.miss_bytes / rates_.l2_bytes_per_cycle},
          {"starting blocks", rounds * rates_.block_interval_cycles},
          {"latency of a block", all.waves * (block.alone + rates_.block_interval_cycles) * cycle_},
          {"memory", all.memory * blocks},
          {"launch", all.launch}};
}

} // namespace

Estimate predict_work_items(const LaneView &view, const std::vector<MadeTile> &made) {
  return WorkItemModel(view).run(made);
}

double least_seconds(const nest::Nest &nest, const schedule::Schedule &schedule,
                     const Target &target) {
  LaneCounts counts;
  const std::vector<InputPlace> places;
  return WorkItemModel({nest, schedule, target, counts, places}).least_seconds();
}

Demands work_item_demands(const LaneView &view) { return WorkItemModel(view).demands(); }

} // namespace tilefuse::cost
