// SPDX-License-Identifier: Apache-2.0
// Cycles that a core needs for one register tile with vector lanes: its steps over the reduced
// indices, and what it does with the results.
//
// A step is bounded by the ports it uses (multiply-adds, loads, stores), by the instructions it
// issues and by the chain through each accumulator; what is not the bottleneck still costs a share,
// because no schedule of instructions is perfect.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cost/footprint.h"
#include "cost/vector/core_rates.h"
#include "nest/nest.h"
#include "schedule/dots.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

// Register copies of each output index: `keep`, or fewer in a partial step; of an index whose
// points are rows, points.
using Copies = Indexed<IndexId, double>;

// What one step does, in operations of a core and the cycles each alone would take.
struct StepCost {
  double accumulators = 0; // registers
  double arithmetic = 0;   // operations
  double loads = 0;
  double spills = 0; // registers that live in memory instead
  double arithmetic_cycles = 0;
  double load_cycles = 0;
  double store_cycles = 0;
  double issue_cycles = 0;
  double chain_cycles = 0;
  double cycles = 0; // of all together
};

class RegisterTileCost {
public:
  // Keeps references; `streams` as cost::streams gives them; `share` of the steps over reduced
  // indices is what clipping and edges leave.
  RegisterTileCost(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target,
                   const std::vector<Stream> &streams, double share);

  StepCost step(const Copies &copies) const;
  // All steps over the reduced indices and the loops around them.
  double accumulate_cycles(const Copies &copies) const;
  // Post-ops and stores of the results; `is_partial`: some lanes of the last copy do not exist.
  double store_cycles(const Copies &copies, bool is_partial) const;
  // Vectors and broadcasts of an input that all steps over the reduced indices read.
  double loads(std::size_t input, const Copies &copies) const;
  // Cycles that start and end a tile.
  double overhead_cycles() const;

private:
  // Instructions of one fragment of an operand.
  struct Access {
    double loads = 0;
    double other = 0;
  };
  Access access(std::size_t stream) const;
  const nest::Operand *read_in_place(std::size_t stream) const;
  double fragments(std::size_t input, const Copies &copies) const;
  double kept_taps(std::size_t input, const Copies &copies) const;
  double distinct(std::size_t input, const Copies &copies, bool innermost_only) const;
  double fragment_loads(std::size_t input, const Copies &copies) const;
  double body_taps() const;
  double live_registers(const Copies &copies) const;
  // With a dot product of rows (register_tile_rows.cpp).
  double row_registers(const nest::Operand *operand, const Copies &copies) const;
  double row_loads(std::size_t input, const Copies &copies) const;
  StepCost row_step(const Copies &copies) const;
  double row_copies(const Copies &copies) const;
  bool overlaps(const Stream &stream, IndexId index) const;
  bool shares_overlapping_taps(std::size_t input) const;
  // Lanes read different elements.
  bool is_spread(std::size_t input) const { return lane_ && streams_[input].stride(*lane_) != 0; }
  double unrolled(IndexId reduced) const;
  double points_of_vector(IndexId reduced) const;
  double steps_over(IndexId reduced) const;
  double fold_cycles() const;
  double vectors_of_chain() const;
  double stored(const Copies &copies) const;
  double masked(const Copies &copies) const;
  double operations_of_point() const;
  double term_slots() const;

  const nest::Nest &nest_;
  const schedule::Schedule &schedule_;
  const Target &target_;
  const std::vector<Stream> &streams_;
  CoreRates rates_;
  std::optional<IndexId> lane_;
  double width_ = 1;
  double parts_ = 1;        // registers of one value
  double result_width_ = 1; // lanes of one result: 1 where a reduced index has the lanes
  double result_parts_ = 1;
  double arithmetic_per_cycle_ = 1;
  bool adds_apart_ = false; // dot products slower than a multiply-add: an instruction that adds
                            // follows
  double share_;
  double post_slots_;                     // of a result's post-ops
  std::optional<schedule::DotRows> rows_; // with a dot product of rows
  bool has_loops_;                        // over reduced indices; results are independent without
  std::vector<Access> access_;            // by stream
  std::vector<bool> shares_taps_;         // by input
  double body_taps_ = 1;
};

} // namespace tilefuse::cost
