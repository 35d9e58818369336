// SPDX-License-Identifier: Apache-2.0
// What work-items do under a schedule, as plain figures: how often each loop runs, what a work-item
// holds in registers and a block in local memory, how many blocks share a multiprocessor. The model
// of time and the figures that a simulation confirms are both made of these.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/index.h"
#include "cost/gpu/lane_access.h"
#include "nest/index.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::cost {

using nest::IndexId;

class WorkItemShape {
public:
  // Keeps references. Requires a legal schedule of work-items.
  explicit WorkItemShape(const LaneView &view);

  double items() const { return items_; } // of a block
  double warps() const { return warps_; }
  double extent(IndexId i) const { return static_cast<double>(nest::extent(nest_, i)); }

  // Register copies of an output index, vector elements included.
  double copies(IndexId i) const { return copies_[i]; }
  // Neighbours of a reduced index that a work-item takes as a vector: a reduced point of its own.
  double reduced_vector() const;
  // Accumulators of a work-item.
  double accumulators() const { return accumulators_; }
  // Elements of an operand that a work-item uses per reduced point, and the reads that bring them.
  double fragments(const nest::Operand &operand) const;
  double fragments(int input) const { return reads_[at(input)].fragments; }
  double vectors(const nest::Operand &operand) const;
  double vectors(int input) const { return reads_[at(input)].vectors; }
  // Registers that one read of an input brings, as it lies where it is read.
  double read_registers(int input) const;
  // Steps that a block walks one after another.
  double steps() const { return steps_; }
  // Of one step and one work-item, with the padding of chunks and of lanes.
  double reduced_points() const { return reduced_points_; }
  // How often a step fills the buffer of an input.
  double refills(int input) const;
  // Reduced points of one body of the innermost loop.
  double unrolled() const { return unrolled_; }
  // Neighbouring register copies of a staged input that a compiler reads as one aligned vector.
  std::int64_t near_copies(int input) const;
  // No fewer than that, whatever the input's place.
  double most_near_copies(int input) const;
  // Share of the reads in an unrolled body that stay when equal addresses are read once:
  // neighbouring outputs whose windows overlap.
  double shared_taps(int input) const { return reads_[at(input)].shared_taps; }
  // Of one refill: elements that the block copies, and how many a work-item copies at once.
  double staged_elems(int input) const { return reads_[at(input)].staged; }
  double copy_width(int input) const;
  // Of a work-item, and whether they are a loop that is priced as one: shorter ones are priced as
  // rounds that are written out.
  double copy_rounds(int input) const;
  bool is_long_loop(int input) const;
  // Of a work-item: what the kernel needs, can have, and is given where nothing keeps the compiler
  // from reading ahead.
  double registers() const;
  double taken_registers() const;
  // What there is not room for, and lives in memory instead.
  double spilled_registers() const;
  double available_registers() const;
  double local_bytes() const; // of a block
  double resident_blocks() const;
  // No fewer than these, whatever the places of inputs.
  double most_resident_blocks() const;
  double unique_bytes(const nest::Operand &operand) const;

protected:
  // Accumulators and the fragments that stay; what is fetched ahead of its use.
  double tile_registers() const;
  double fetched_registers() const;
  // Accumulators and all that one unrolled body reads from global memory, as it lies there: a
  // compiler that may have the registers lets all of it be under way before it computes.
  double body_registers() const;
  double resident_blocks(double local) const; // of so many bytes
  // Offsets of what a work-item copies, where registers hold them.
  double offset_registers() const;

  DType read_type(int input) const { return cost::read_type(nest_, schedule_, input); }
  const InputPlace &place(int input) const { return places_[at(input)]; }

  const LaneView view_;
  const nest::Nest &nest_;
  const schedule::Schedule &schedule_;
  const Target &target_;
  const Rates &rates_;
  double items_ = 1;
  double warps_ = 1;

private:
  // Of an input, what work-items read per reduced point.
  struct Read {
    double fragments = 1;
    double vectors = 1;
    double shared_taps = 1;
    double staged = 0; // elements of a refill
  };
  double steps_of_block() const;
  double points_of_reduced() const;
  double copies_of_reduced() const;
  double shared_taps_of(const nest::Operand &input) const;
  double staged_by_refill(int input) const;

  const std::vector<InputPlace> &places_; // by input
  std::optional<IndexId> vector_;
  Indexed<IndexId, double> copies_; // of outputs
  double accumulators_ = 1;
  double steps_ = 1;
  double reduced_points_ = 1;
  double unrolled_ = 1;
  std::vector<Read> reads_; // by input
};

} // namespace tilefuse::cost
