// SPDX-License-Identifier: Apache-2.0
// What passes between the levels of memory while a processor's core computes a block of a schedule
// with vector lanes: bytes of whole lines by what fits each level (cost/footprint.h), dearer where
// lines crowd into few sets or banks, come in short runs or are shared with another core.
#pragma once

#include <vector>

#include "cost/footprint.h"
#include "cost/vector/core_rates.h"
#include "cost/vector/register_tile.h"

namespace tilefuse::cost {

// What a step reads and writes, and the cycles that it takes. With `whole` the nest is a tile of it.
struct VectorSteps {
  // Keeps references.
  VectorSteps(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
              const nest::Nest *whole = nullptr);
  VectorSteps(const VectorSteps &) = delete;
  VectorSteps &operator=(const VectorSteps &) = delete;

  std::vector<Stream> streams;
  RegisterTileCost tile; // of the streams
};

// What passes between the levels of memory by a step itself. Where nothing is staged both are the
// same in blocks of any size.
struct StepTraffic {
  // Keeps a reference to the streams.
  StepTraffic(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
              const VectorSteps &steps);

  const std::vector<Stream> &streams;
  std::vector<Stream> sources; // of what is staged
  double bytes_in_memory = 0;  // that the whole nest touches
  Spans spans;
  std::vector<Stream::Piece> pieces; // by stream
  // How often the lines of an input are brought in where they crowd into few sets of the first
  // level, as pixels do that lie a multiple of a way apart: for every read.
  std::vector<double> conflicts;
};

class VectorTraffic {
public:
  // What it refers to must outlive it. `is_result_local`: results stay in a staging buffer.
  VectorTraffic(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
                const StepTraffic &step, bool is_result_local);

  // Per block, from the second to the first level, in the time of bytes that stream.
  // Lines beside those that a step reads are fetched ahead in part.
  double l2_bytes() const;
  // From the third to the second level: nothing where that holds all that the nest touches.
  double l3_bytes() const;
  // From memory to the third level, likewise.
  double memory_bytes() const;
  // Whether a step walks through many runs of some input, which no prefetcher follows.
  bool walks() const;
  // Times that a block fills the buffer of an input: in each tile, or in each chunk of each step.
  double fills(std::size_t input) const;

private:
  double extent(IndexId i) const { return static_cast<double>(nest_.indices[i].extent); }
  double grid(IndexId i) const;
  std::vector<LoopTrips> block_loops() const;
  std::vector<LoopTrips> grid_loops() const;
  bool is_copied(std::size_t k) const;
  double bank_wait(std::size_t k) const;
  double torn_pairs() const;
  double straight_run(std::size_t k) const;
  double jumps_nearby(std::size_t k) const;
  bool is_turned() const { return schedule_.store == schedule::Store::Local; }
  double turned_bytes(const Cache &l1) const;
  double fill_bytes(std::size_t k, const Cache &l1) const;
  double jumps(std::size_t k, bool from_memory) const;
  double far_bytes(const Cache &cache, bool from_memory) const;
  bool fits(double bytes) const;

  const nest::Nest &nest_;
  const schedule::Schedule &schedule_;
  const Target &target_;
  const StepTraffic &step_;
  const std::vector<Stream> &streams_;
  bool is_result_local_;
  bool is_map_; // without loops over reduced indices
  CoreRates rates_;
  std::vector<LoopTrips> loops_; // of a block over its steps, innermost first
  std::vector<LoopTrips> grid_loops_;
  Spans neighbours_; // a step and those that the innermost loop adds to it
  Spans block_;
};

} // namespace tilefuse::cost
