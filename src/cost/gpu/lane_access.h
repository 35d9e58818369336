// SPDX-License-Identifier: Apache-2.0
// What one read or write of an operand by the work-items of a block costs: the addresses of all
// lanes of the block, from the digits of their numbers and the strides of what they touch, counted
// by the rules of kernel/counts.h.
//
//   lane m:16, K staged with stride 72 along m   ->   1 request, 1 phase, 4 wavefronts
//   the same with stride 577                     ->   1 request, 1 phase, 1 wavefront
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "schedule/staging.h"
#include "target/target.h"

namespace tilefuse::cost {

// Of a vector of the schedule's width where the operand moves with it, else of one element; summed
// over the warps of a block.
struct LaneAccess {
  double requests = 0;
  double phases = 0;     // of banked memory
  double wavefronts = 0; // of banked memory
  double sectors = 0;    // of global memory
};

using schedule::InputPlace;

// Accesses that were counted, by the numbers that they depend on. The schedules of one search deal
// out their lanes in few ways: who prices many of them keeps one.
struct HashOfNumbers {
  std::size_t operator()(const std::vector<std::int64_t> &numbers) const;
};
struct LaneCounts {
  std::unordered_map<std::vector<std::int64_t>, LaneAccess, HashOfNumbers> found;
  std::vector<std::int64_t> numbers; // of the access that is asked for
};

// Whose accesses are counted. Lanes are work-items.
struct LaneView {
  const nest::Nest &nest;
  const schedule::Schedule &schedule;
  const Target &target;
  LaneCounts &counts;
  const std::vector<InputPlace> &places; // schedule::input_places(nest, schedule)
};

// In which an input lies where work-items read it: in place, staged or packed.
DType read_type(const nest::Nest &nest, const schedule::Schedule &schedule, int input);

// From local memory where the input is staged, else from where it lies. `near` register copies are
// read as one vector.
LaneAccess input_access(const LaneView &view, int input, const InputPlace &place,
                        std::int64_t near = 1);
// The same where global memory moves in pieces of so many bytes.
LaneAccess input_access_by(const LaneView &view, int input, const InputPlace &place,
                           std::int64_t sector_bytes);
// An operand in place: the result or an extra. `near` register copies are one vector.
LaneAccess operand_access(const LaneView &view, const nest::Operand &operand,
                          std::int64_t near = 1);

// Bytes of an element of a staged input where it lies.
std::int64_t copied_bytes(const nest::Nest &nest, const schedule::Schedule &schedule, int input);
// Sectors that copying the tile of a staged input into its buffer asks for, once.
double copy_sectors(const LaneView &view, int input, const InputPlace &place);

} // namespace tilefuse::cost
