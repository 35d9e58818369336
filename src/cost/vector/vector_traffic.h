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

class VectorTraffic {
public:
  // What it refers to must outlive it. `is_result_local`: results stay in a staging buffer.
  VectorTraffic(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
                const std::vector<Stream> &streams, bool is_result_local);

  // Per block, from the second to the first level, in the time of bytes that stream.
  // Lines beside those that a step reads are fetched ahead in part.
  double l2_bytes(const RegisterTileCost &tile) const;
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
  Spans step_spans() const;
  std::vector<LoopTrips> block_loops() const;
  std::vector<LoopTrips> grid_loops() const;
  bool is_copied(std::size_t k) const;
  double conflict(std::size_t k, const RegisterTileCost &tile) const;
  double bank_wait(std::size_t k) const;
  double torn_pairs() const;
  bool is_turned() const { return schedule_.store == schedule::Store::Local; }
  double turned_bytes(const Cache &l1) const;
  double fill_bytes(std::size_t k, const Cache &l1) const;
  double jumps(std::size_t k, bool from_memory) const;
  double far_bytes(const Cache &cache, bool from_memory) const;
  bool fits(double bytes) const;

  const nest::Nest &nest_;
  const schedule::Schedule &schedule_;
  const Target &target_;
  const std::vector<Stream> &streams_;
  std::vector<Stream> sources_; // of what is staged
  bool is_result_local_;
  CoreRates rates_;
  std::vector<LoopTrips> loops_; // of a block over its steps, innermost first
  std::vector<LoopTrips> grid_loops_;
  Spans step_;
  Spans neighbours_; // a step and those that the innermost loop adds to it
  Spans block_;
  double bytes_in_memory_;           // that the whole nest touches
  std::vector<Stream::Piece> steps_; // of a step, by stream
};

} // namespace tilefuse::cost
