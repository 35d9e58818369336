// SPDX-License-Identifier: Apache-2.0
// A group's kernel on the simulator, on small random integers, against the nest evaluator: bit by bit
// where every value on the way is exact (oracle/exact.h), else within the bounds of
// oracle/expected_group.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/simulate.h"
#include "poly/group.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::model {

// The relative error with which a kernel of this schedule may read each factor of a product.
double input_roundoff(const schedule::Schedule &schedule);

// The elements of the out operand's slot that the nest writes.
std::vector<bool> written_elements(const nest::Nest &nest);

// A kernel's arguments from the bytes of the group's slots: which buffers they are, in order, with
// constants packed as the schedule says. What is packed lies in `packed`.
std::vector<std::span<std::byte>> kernel_arguments(const poly::Group &group,
                                                   const schedule::Schedule &schedule,
                                                   std::span<program::Bytes> slots,
                                                   std::vector<program::Bytes> &packed);

// What the simulator is to be told of a group's kernel: its target, which elements it must write,
// and whether it also reads the slot it writes.
kernel::SimulationOptions simulation_options(const poly::Group &group,
                                             const schedule::Schedule &schedule,
                                             const Target &target);

// A kernel's run: what it spent, or the rule that it broke.
struct Simulated {
  kernel::Counts counts;
  std::string fault; // a race, an access out of bounds, …; empty: none
};
// Error{Limit} where there is no such block.
Simulated try_kernel(const kernel::Kernel &kernel, std::span<const std::span<std::byte>> globals,
                     const kernel::SimulationOptions &options);

struct SimulatedGroup {
  kernel::Kernel kernel;
  kernel::Counts counts;
  kernel::BankTrace banks;
  std::int64_t compared = 0; // elements
  std::int64_t different = 0;
  std::string first_difference; // "element 5 is 3, must be 4", or empty
  std::int64_t rounded = 0;     // elements that differ from the evaluator's within their bounds
  double largest_share = 0;     // of its bound, by which one differs
  std::string fault; // of the kernel: a race, an access out of bounds, …; nothing is compared then
};

// Runs the blocks (none: all) and compares what they wrote. Requires a legal schedule. Error{Limit}
// where the buffers are too large.
SimulatedGroup simulate_group(const poly::Group &group, const schedule::Schedule &schedule,
                              const Target &target, const std::vector<std::int64_t> &blocks);

} // namespace tilefuse::model
