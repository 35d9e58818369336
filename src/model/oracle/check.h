// SPDX-License-Identifier: Apache-2.0
// A kernel against the nest it was made from: what it stores, simulated after each pass of lowering
// or run on a device, compared with the evaluator element by element.
//
// Integers must come out exact; reals within the bound of model/oracle/expected_group.h. Elements
// that the nest does not write must keep what they held, and on a device so must the bytes around
// every argument.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/nodes.h"
#include "lower/pipeline.h"
#include "model/oracle/kernel_case.h"
#include "runtime/device.h"

namespace tilefuse::model {

struct Divergence {
  std::string stage; // "simulated after unroll", "on pocl-znver3"
  std::string what;  // the simulator's complaint, or element, value and what was expected
  friend bool operator==(const Divergence &, const Divergence &) = default;
};

using Slots = std::vector<program::Bytes>;

// The judge of one case: the evaluator's answer, computed once.
class Reference {
public:
  // At most `samples` output points are compared, fewer of long reductions; 0: all of them.
  Reference(const KernelCase &kernel_case, std::int64_t samples = 0);
  // The same with slots that the kernel case does not hold.
  Reference(const KernelCase &kernel_case, std::int64_t samples, Slots before);

  const KernelCase &kernel_case() const { return case_; }
  // The slots before the kernel runs.
  const Slots &before() const { return before_; }
  Slots take_before() && { return std::move(before_); }
  // What is wrong with what a kernel that ran left in the slots that it writes, if anything; and
  // with the anchor's alone.
  std::optional<std::string> compare(const Slots &after) const;
  std::optional<std::string> compare(const program::Bytes &out) const;
  std::int64_t compared() const { return compared_; }
  // The largest error seen by compare(), as a share of its bound.
  double largest_share() const { return largest_share_; }

private:
  std::optional<std::string> compare_exact(poly::SlotId slot, const program::Bytes &out) const;
  // With what the anchor of `group` stores; `before` by its slots.
  std::optional<std::string> compare_bounded(const poly::Group &group,
                                             std::span<const std::span<std::byte>> before,
                                             const program::Bytes &out) const;
  std::optional<std::string> compare_by_product(const poly::Producer &producer,
                                                const Slots &after) const;
  std::optional<std::string> compare_sum(const poly::TileSum &sum, const Slots &after) const;

  const KernelCase &case_;
  std::int64_t samples_;
  mutable Slots before_; // the evaluator takes what it reads as it takes what it writes
  Slots exact_;          // where results are compared bit by bit, else empty
  mutable std::int64_t compared_ = 0;
  mutable double largest_share_ = 0;
};

// Runs one kernel of the case, at any pass, in the simulator.
std::optional<Divergence> check_kernel(const Reference &reference, const kernel::Kernel &kernel,
                                       const std::string &stage);
// Lowers a case and shows the kernel after every pass.
using Lowering = std::function<void(const KernelCase &, const lower::Observer &)>;
void lower_case(const KernelCase &kernel_case, const lower::Observer &observer);
// Simulates the kernel after every pass: the first that is wrong.
std::optional<Divergence> check_simulated(const Reference &reference,
                                          const Lowering &lowering = lower_case);
// Lowers, emits and runs the case on a device, whose target must be the case's.
std::optional<Divergence> check_on_device(const Reference &reference, runtime::Device &device);
// The same with a package that is built already. `after` gets the slots that it writes, as it left
// them.
std::optional<Divergence> check_built(const Reference &reference, const Package &built,
                                      runtime::Device &device, Slots *after = nullptr);
// Device seconds of the fastest of `runs` launches.
double time_built(const Reference &reference, const Package &built, runtime::Device &device,
                  int runs);

} // namespace tilefuse::model
