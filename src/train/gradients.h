// SPDX-License-Identifier: Apache-2.0
// A step's first program, compiled, for a worker's lanes. Lanes take turns in its memory and leave what
// they learned in "learned", one behind the other:
//
//   turn 0   lane 0
//   turn 1   lane 1
//
// Lanes that are normalised together have memory of their own, and run side by side up to each sum that
// they share (lanes/segments.h), in one turn; "learned" is the sum of theirs:
//
//   turn 0   segment 0 of lane 0, of lane 1; their sums; segment 1 of lane 0, of lane 1; …
//
// Such a sum is the tree over the lanes' numbers (lanes/sum_program.h) of what all workers gather: the
// same bits for any number of them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/index.h"
#include "runtime/timeline.h"
#include "train/lanes/segments.h"
#include "train/phase.h"
#include "train/step_program.h"

namespace tilefuse::train {

inline constexpr std::size_t kMostFed =
    3; // the first inputs: pictures, labels, perhaps what is drawn

// A step's program in its precision, which the target must have, and its segments. Where it is cut, maps are joined before, lest each of
// them crosses.
struct CutStep {
  model::AppliedPrecision applied;
  std::vector<Segment> segments;
};
CutStep cut_step(const StepProgram &step, const std::string &precision, const Target &target);

struct GradientPlaces {
  std::vector<model::PlacedPort> ports; // all but what a batch has, and lane sums
  runtime::Binding learned;             // in which outputs lie
};

struct LaneShare {
  int lanes = 1; // of this worker
  int first = 0; // their numbers
  int all = 1;   // of all workers
  // Makes each worker's part of a buffer known to all, behind what is queued.
  std::function<void(const runtime::Binding &)> gather;
  double factor = 1; // of "learned", where lanes are summed here
};

class Gradients {
public:
  // All that is named outlives the result.
  Gradients(const StepProgram &step, const Compilation &compilation, const GradientPlaces &places,
            LaneShare share);

  int turns() const { return is_together() ? 1 : share_.lanes; }
  int lanes_of_turn() const { return is_together() ? share_.lanes : 1; }
  bool is_together() const { return lane_sums_ > 0; }
  // What a turn launches.
  runtime::Timeline timeline() const;

  std::size_t fed() const { return fed_count_; } // inputs that are a batch's
  std::int64_t fed_bytes() const;                // of a lane
  // Where a lane has its pictures (0), labels (1) and what is drawn (2), and leaves what it learned.
  runtime::Binding input(int lane, std::size_t port) const;
  runtime::Binding learned(int lane) const { return learned_[set_of(lane)]; }
  // Programs of a lane, in order.
  std::span<const std::unique_ptr<model::Resident>> programs() const { return programs_; }
  std::int64_t activation_bytes() const;
  std::int64_t constant_bytes() const;
  // As Phase has it, of one lane's programs in order.
  std::vector<Profiled> profile(int passes);

private:
  // Behind a segment.
  struct LaneSums {
    runtime::Binding gathered; // by lane of all workers
    runtime::Binding total;
    std::optional<Phase> sum;
  };

  std::size_t sets() const { return at(lanes_of_turn()); } // of memory
  std::size_t set_of(int lane) const { return is_together() ? at(lane) : 0; }
  runtime::Binding allocate(std::int64_t bytes);
  runtime::Binding &place(std::size_t set, program::TensorId id) { return places_[set][at(id)]; }
  void place_ports(const program::Program &whole, const GradientPlaces &places);
  LaneSums place_lane_sums(const program::Program &whole, const Segment &segment);
  void place_crossing(const program::Program &whole, std::span<const Segment> segments);
  void add_executions(const Segment &segment, runtime::Memory *arena);
  void add_sums(const Compilation &compilation, const runtime::Binding &learned);

  const LaneShare share_;
  runtime::Device &device_;
  const std::size_t lane_sums_;
  const std::size_t fed_count_;
  std::vector<std::unique_ptr<runtime::Memory>> memory_;
  std::vector<runtime::Binding> learned_;                   // by set
  std::vector<std::array<runtime::Binding, kMostFed>> fed_; // by set, of lanes that run together
  // By set, where tensors of the whole program lie; without memory: in the execution's own.
  std::vector<std::vector<runtime::Binding>> places_;
  std::vector<std::unique_ptr<model::Resident>> programs_;
  std::vector<std::vector<std::unique_ptr<model::Execution>>> executions_; // by segment, set
  std::vector<LaneSums> sums_;                                             // by segment
  std::optional<Phase> learned_sum_;
};

} // namespace tilefuse::train
