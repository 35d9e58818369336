// SPDX-License-Identifier: Apache-2.0
#include "cost/vector/vector_traffic.h"

#include <algorithm>
#include <cmath>

#include "nest/index.h"
#include "schedule/blocks.h"
#include "schedule/guards.h"
#include "schedule/result_tile.h"
#include "schedule/rolling.h"
#include "schedule/staging.h"

namespace tilefuse::cost {
namespace {

using schedule::Schedule;

// Of a cache, what the working set of a loop can keep.
constexpr double kUsableL1 = 0.6;
constexpr double kUsableL2 = 0.6;
constexpr double kUsableL3 = 0.8;
constexpr double kWritten = 2;     // a line is read before it is written
constexpr double kPairBytes = 128; // lines that a core fetches together
// Of a run of results beside which another unit writes: lines lost to its prefetches, as bytes.
constexpr double kTakenBytes = 2048;
// How much dearer a stream is whose lines throw each other out of their set.
constexpr double kConflict = 8;
constexpr std::int64_t kWayBytes =
    4096; // of the first level: the part of an address that is not translated
// Bytes that memory could bring meanwhile when a stream jumps: what a prefetcher needs to follow.
constexpr double kJumpBytes = 128;
constexpr double kMapJumpBytes = 128; // the same of the second level, in a map
// The same within a step that walks through many runs, by how far they lie apart, up to a page.
constexpr double kLongWalk = 64;
constexpr double kApartPerByte = 16;
constexpr double kFarJumpBytes = 256;
constexpr double kMemoryJumpBytes = 120;

Spans step_spans(const nest::Nest &nest, const Schedule &schedule) {
  Spans spans;
  spans.reserve(nest.indices.size());
  for (const IndexId i : nest.indices.ids()) {
    const std::int64_t extent = nest::extent(nest, i);
    const std::int64_t points =
        is_output(nest, i) ? std::min(schedule.splits[i].step(), extent) : extent;
    spans.push_back(static_cast<double>(points));
  }
  return spans;
}

} // namespace

VectorSteps::VectorSteps(const nest::Nest &nest, const Schedule &schedule, const Target &target,
                         const nest::Nest *whole)
    : streams(cost::streams(nest, schedule)),
      tile(nest, schedule, target, streams,
           computed_share(whole != nullptr ? *whole : nest, schedule)) {}

StepTraffic::StepTraffic(const nest::Nest &nest, const Schedule &schedule, const Target &target,
                         const VectorSteps &steps)
    : streams(steps.streams), sources(cost::sources(nest, schedule, streams)),
      bytes_in_memory(cost::bytes_in_memory(nest, streams, sources)),
      spans(step_spans(nest, schedule)) {
  pieces.reserve(streams.size());
  for (const Stream &stream : streams)
    pieces.push_back(stream.piece(spans));
  Copies copies;
  for (const IndexId i : output_indices(nest))
    copies.push_back(static_cast<double>(schedule.splits[i].keep * schedule.splits[i].vec));
  const std::int64_t ways = std::max<std::int64_t>(2, target.l1_bytes / kWayBytes);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    const double lines = pieces[k].bytes() / streams[k].line_bytes;
    const bool fits = lines_in_a_set(streams[k], schedule, nest.output_indices, kWayBytes) < ways;
    conflicts.push_back(fits ? 1 : std::clamp(steps.tile.loads(k, copies) / lines, 1.0, kConflict));
  }
}

VectorTraffic::VectorTraffic(const nest::Nest &nest, const Schedule &schedule, const Target &target,
                             const StepTraffic &step, bool is_result_local)
    : nest_(nest), schedule_(schedule), target_(target), step_(step), streams_(step.streams),
      is_result_local_(is_result_local), is_map_(nest.agg == program::Agg::Assign),
      rates_(core_rates(target)), loops_(block_loops()), grid_loops_(grid_loops()),
      neighbours_(step.spans), block_(step.spans) {
  if (!loops_.empty())
    neighbours_[loops_.front().index] *= loops_.front().trips;
  for (const LoopTrips &loop : loops_)
    block_[loop.index] *= loop.trips;
}

double VectorTraffic::grid(IndexId i) const {
  const std::int64_t points = schedule_.splits[i].of_block();
  return static_cast<double>((nest::extent(nest_, i) + points - 1) / points);
}

std::vector<LoopTrips> VectorTraffic::block_loops() const {
  std::vector<LoopTrips> loops;
  loops.reserve(schedule_.order.size());
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    if (!is_output(nest_, *i))
      continue;
    const double step = std::min(static_cast<double>(schedule_.splits[*i].step()), extent(*i));
    const double trips = extent(*i) / grid(*i) / step;
    if (trips > 1)
      loops.push_back({*i, trips});
  }
  return loops;
}

std::vector<LoopTrips> VectorTraffic::grid_loops() const {
  std::vector<LoopTrips> loops;
  loops.reserve(schedule_.order.size());
  for (auto i = schedule_.order.rbegin(); i != schedule_.order.rend(); ++i) {
    if (is_output(nest_, *i) && grid(*i) > 1)
      loops.push_back({*i, grid(*i)});
  }
  return loops;
}

double VectorTraffic::fills(std::size_t input) const {
  if (!schedule_.pipes[input].at)
    return rolling(nest_, schedule_).tiles;
  double count = 1;
  for (const IndexId i : nest_.indices.ids()) {
    const schedule::Split &split = schedule_.splits[i];
    count *= std::ceil(is_output(nest_, i)
                           ? static_cast<double>(split.tile) / static_cast<double>(split.step())
                           : extent(i) / static_cast<double>(split.tile));
  }
  return count;
}

// Whether a staging buffer is filled from memory.
bool VectorTraffic::is_copied(std::size_t k) const {
  return streams_[k].is_staged && schedule_.fills[k] != schedule::Fill::Produced;
}

// Of the lines of a step and of those that the next steps read beside them.
double VectorTraffic::bank_wait(std::size_t k) const {
  return (bank_conflict(step_.pieces[k]) + bank_conflict(streams_[k].piece(neighbours_))) / 2;
}

// Bytes that are taken as one run, by steps one after the other; results that a step stores in
// several rows by no more than one.
double VectorTraffic::straight_run(std::size_t k) const {
  Spans spans = step_.spans;
  double run = step_.pieces[k].run;
  if (streams_[k].is_written && step_.pieces[k].repeats > 1)
    return run;
  for (const LoopTrips &loop : loops_) {
    if (!streams_[k].uses(loop.index))
      continue;
    spans[loop.index] *= loop.trips;
    const double longer = streams_[k].piece(spans).run;
    if (longer <= run)
      break;
    run = longer;
  }
  return run;
}

// How much dearer a map's lines are that neighbouring steps take from different places: nothing is
// computed until a prefetcher has followed.
double VectorTraffic::jumps_nearby(std::size_t k) const {
  return is_map_ ? 1 + kMapJumpBytes / straight_run(k) : 1;
}

// How much dearer results are of which another block writes the neighbouring line: cores fetch
// lines in pairs and take them from each other. Where units deal out the lanes among themselves,
// each run of a unit's results ends beside another's, which its prefetches take.
double VectorTraffic::torn_pairs() const {
  const std::optional<IndexId> lane =
      is_turned() ? schedule::fastest_in_result(nest_) : lane_index(schedule_);
  if (!lane || grid_loops_.empty() || grid(*lane) <= 1) // one block has no other beside it
    return 1;
  const double run = streams_.back().piece(block_).run;
  const double pairs = std::max(1.0, kPairBytes / run);
  const bool is_dealt = grid_loops_.back().index == lane;
  const double blocks = grid(*lane) / std::max(1, target_.compute_units);
  return is_dealt ? std::max(pairs, 1 + kTakenBytes / (run * std::max(1.0, blocks))) : pairs;
}

// Of a staging buffer: as much of its source, and itself where the first level does not hold it.
double VectorTraffic::fill_bytes(std::size_t k, const Cache &l1) const {
  const double buffer = streams_[k].bytes(block_);
  return fills(k) * buffer *
         (bank_conflict(step_.sources[k].piece(block_)) + (buffer > l1.bytes ? kWritten : 0));
}

// Of results that are turned: each line is written once, and the buffer passes through the second
// level where the first does not hold it.
double VectorTraffic::turned_bytes(const Cache &l1) const {
  const schedule::ResultTile tile = result_tile(nest_, schedule_);
  const double result = streams_.back().bytes(block_);
  const double buffer = static_cast<double>(tile.elems) * streams_.back().elem_bytes;
  return result * kWritten * torn_pairs() + (buffer > l1.bytes ? kWritten * result : 0);
}

double VectorTraffic::l2_bytes() const {
  const double size = static_cast<double>(target_.l1_bytes);
  const Cache l1{kUsableL1 * size, size / rates_.l1_ways};
  const std::vector<double> moved = traffic(streams_, step_.spans, loops_, l1);
  double bytes = 0;
  for (std::size_t k = 0; k < streams_.size(); ++k) {
    if (streams_[k].is_written && is_turned()) {
      bytes += turned_bytes(l1);
      continue;
    }
    const double conflict = k < step_.conflicts.size() ? step_.conflicts[k] : 1;
    const double times = streams_[k].is_written ? kWritten * torn_pairs() : conflict;
    bytes +=
        moved[k] * bank_wait(k) * jumps_nearby(k) * times + (is_copied(k) ? fill_bytes(k, l1) : 0);
  }
  return bytes;
}

// How much dearer bytes are that come in short runs: from the third level where neighbouring tiles
// read them so; from there and from memory where a step walks through many runs.
double VectorTraffic::jumps(std::size_t k, bool from_memory) const {
  const Stream::Piece &step = step_.pieces[k];
  const bool is_walk = step.repeats >= kLongWalk;
  if (from_memory)
    return is_walk ? 1 + kMemoryJumpBytes / step.run : 1;
  const double far = is_walk ? std::min(step.apart / kApartPerByte, kFarJumpBytes) : 0;
  return 1 + std::max(kJumpBytes / streams_[k].piece(neighbours_).run, far / step.run);
}

bool VectorTraffic::walks() const {
  for (std::size_t k = 0; k < streams_.size(); ++k)
    if (!streams_[k].is_staged && step_.pieces[k].repeats >= kLongWalk)
      return true;
  return false;
}

// Into a cache beyond the first level, per block. A staging buffer comes from nowhere, its source
// does, once per block; but both must fit while it is filled.
double VectorTraffic::far_bytes(const Cache &cache, bool from_memory) const {
  const double blocks = static_cast<double>(schedule::blocks(nest_, schedule_));
  Traffic traffic(streams_, step_.spans, cache);
  traffic.add(loops_);
  const std::vector<double> in_block = traffic.moved();
  traffic.add(grid_loops_);
  double bytes = 0;
  for (std::size_t k = 0; k < streams_.size(); ++k) {
    if (streams_[k].is_written && is_result_local_)
      continue;
    if (!streams_[k].is_staged) {
      const bool leaves_once = streams_[k].is_written && is_turned();
      bytes += (leaves_once ? streams_[k].bytes(block_) : traffic.moved()[k] / blocks) *
               (streams_[k].is_written ? kWritten : 1) * jumps(k, from_memory);
      continue;
    }
    const double buffer = streams_[k].bytes(block_);
    bytes += std::max(in_block[k] - buffer, 0.0);
    if (is_copied(k))
      bytes += step_.sources[k].bytes(block_);
    bytes += 2 * buffer > cache.bytes ? kWritten * buffer : 0;
  }
  return bytes;
}

// Whether caches of so many bytes, one for each core, hold all that the nest touches.
bool VectorTraffic::fits(double bytes) const {
  return step_.bytes_in_memory <= bytes * std::max(1, target_.compute_units);
}

double VectorTraffic::l3_bytes() const {
  const double size = static_cast<double>(target_.l2_bytes);
  const double usable = kUsableL2 * size;
  return fits(usable) ? 0 : far_bytes({usable, size / rates_.l2_ways}, false);
}

double VectorTraffic::memory_bytes() const {
  const double usable = kUsableL3 * rates_.l3_bytes;
  return fits(usable) ? 0 : far_bytes({usable, 0}, true);
}

} // namespace tilefuse::cost
