// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/index.h"
#include "kernel/simulate.h"
#include "lower/pipeline.h"
#include "model/oracle/exact.h"
#include "model/oracle/expected_group.h"
#include "model/oracle/simulate_group.h"
#include "model/plan/pack.h"
#include "nest/index.h"
#include "schedule/staging.h"

namespace tilefuse::model {
namespace {

constexpr int kManyRegisters = 1 << 20; // a random schedule may spill

using program::Bytes;

const nest::Nest &nest_of(const KernelCase &kernel_case) { return kernel_case.group.anchor; }

nest::Slot out_slot(const nest::Nest &nest) { return slot_of(nest, nest.out); }

std::vector<std::span<std::byte>> spans(Slots &slots) { return {slots.begin(), slots.end()}; }

std::string mismatch(std::int64_t element, double got, double expected, double bound) {
  return fmt::format("element {} is {}, expected {}{}", element, got, expected,
                     bound > 0 ? fmt::format(" within {:.3g}", bound) : "");
}

// Points that are evaluated of a kernel whose results are sampled, and results that are at least.
constexpr std::int64_t kMostPoints = std::int64_t{1} << 22;
constexpr std::int64_t kLeastSamples = 4;

// So many results that evaluating them takes about as long for every nest.
std::int64_t samples_of(const nest::Nest &nest, std::int64_t most) {
  std::int64_t points = 1;
  for (const nest::IndexId i : reduced_indices(nest))
    points *= extent(nest, i);
  return std::min(most, std::max(kMostPoints / points, kLeastSamples));
}

} // namespace

Reference::Reference(const KernelCase &kernel_case, std::int64_t samples, Slots before)
    : case_(kernel_case), samples_(samples), before_(std::move(before)) {}

Reference::Reference(const KernelCase &kernel_case, std::int64_t samples)
    : case_(kernel_case), samples_(samples), before_(make_slots(kernel_case)) {
  if (!is_exact(kernel_case) || samples > 0)
    return;
  exact_ = before_;
  poly::evaluate(case_.group, spans(exact_));
}

std::optional<std::string> Reference::compare(const Bytes &out) const {
  return exact_.empty() ? compare_bounded(case_.group, spans(before_), out)
                        : compare_exact(nest_of(case_).out.slot, out);
}

std::optional<std::string> Reference::compare(const Slots &after) const {
  if (auto what = compare(after[at(nest_of(case_).out.slot)]))
    return what;
  for (const poly::MemberId m : producing_members(case_.group))
    if (producer_at(case_.group, m).stored)
      if (auto what = compare_by_product(producer_at(case_.group, m), after))
        return fmt::format("what member {} stores: {}", m, *what);
  for (const poly::TileSum &sum : case_.group.sums)
    if (auto what = compare_sum(sum, after))
      return fmt::format("sum {}: {}", sum.nest.name, *what);
  return {};
}

// Of what the anchor has stored.
std::optional<std::string> Reference::compare_sum(const poly::TileSum &sum,
                                                  const Slots &after) const {
  Bytes stored = after[at(nest_of(case_).out.slot)];
  std::vector<std::span<std::byte>> before;
  for (const poly::SlotId s : sum.slots)
    before.emplace_back(s == nest_of(case_).out.slot ? stored : before_[at(s)]);
  return compare_bounded({sum.nest}, before, after[at(sum.slots[sum.nest.out.slot])]);
}

// A stored producer reads nothing that exists in tiles only.
std::optional<std::string> Reference::compare_by_product(const poly::Producer &producer,
                                                         const Slots &after) const {
  const poly::SlotId slot = producer.slots[producer.nest.out.slot];
  const Bytes &out = after[at(slot)];
  if (!exact_.empty())
    return compare_exact(slot, out);
  std::vector<std::span<std::byte>> before;
  for (const poly::SlotId s : producer.slots)
    before.emplace_back(before_[at(s)]);
  return compare_bounded({producer.nest, {}}, before, out);
}

std::optional<std::string> Reference::compare_exact(poly::SlotId number, const Bytes &out) const {
  const nest::Slot slot = group_slots(case_.group)[number];
  const Bytes &exact = exact_[at(number)];
  compared_ += slot.elems;
  for (std::int64_t i = 0; i < slot.elems; ++i) {
    const double got = load_element(out.data(), slot.type, i);
    const double expected = load_element(exact.data(), slot.type, i);
    if (got != expected && !(std::isnan(got) && std::isnan(expected)))
      return mismatch(i, got, expected, 0);
  }
  return {};
}

std::optional<std::string> Reference::compare_bounded(const poly::Group &group,
                                                      std::span<const std::span<std::byte>> before,
                                                      const Bytes &out) const {
  const nest::Nest &nest = group.anchor;
  const nest::Slot slot = out_slot(nest);
  Random random(case_.seed);
  std::vector<bool> is_output(samples_ > 0 ? 0 : static_cast<std::size_t>(slot.elems));
  const std::int64_t count =
      samples_ > 0 ? samples_of(nest, samples_) : std::numeric_limits<std::int64_t>::max();
  for (const nest::Expectation &want :
       poly::expect(group, before, nest::output_points(nest, count, random),
                    input_roundoff(case_.schedule))) {
    const double got = load_element(out.data(), slot.type, want.element);
    if (samples_ == 0)
      is_output[at(want.element)] = true;
    ++compared_;
    if (got == want.value || (std::isnan(got) && std::isnan(want.value)))
      continue;
    const double apart = std::fabs(got - want.value);
    if (!(apart <= want.bound))
      return mismatch(want.element, got, want.value, want.bound);
    largest_share_ = std::max(largest_share_, apart / want.bound);
  }
  const std::span<const std::byte> untouched = before[at(nest.out.slot)];
  for (std::int64_t i = 0; samples_ == 0 && i < slot.elems; ++i)
    if (!is_output[at(i)] &&
        load_element(out.data(), slot.type, i) != load_element(untouched.data(), slot.type, i))
      return fmt::format("element {} was overwritten; no point of the nest stores it", i);
  return {};
}

std::optional<Divergence> check_kernel(const Reference &reference, const kernel::Kernel &kernel,
                                       const std::string &stage) {
  const KernelCase &from = reference.kernel_case();
  Slots slots = reference.before();
  Slots packed;
  const std::vector<std::span<std::byte>> args =
      kernel_arguments(from.group, from.schedule, slots, packed);
  kernel::SimulationOptions options = simulation_options(from.group, from.schedule, from.target);
  options.target->vector_registers = kManyRegisters;
  options.count = false;
  try {
    kernel::simulate(kernel, args, options);
  } catch (const Error &complaint) {
    return Divergence{stage, complaint.what()};
  }
  if (std::optional<std::string> what = reference.compare(slots))
    return Divergence{stage, *what};
  return {};
}

void lower_case(const KernelCase &kernel_case, const lower::Observer &observer) {
  lower::lower(kernel_case.group, kernel_case.schedule, kernel_case.target, observer);
}

std::optional<Divergence> check_simulated(const Reference &reference, const Lowering &lowering) {
  std::optional<Divergence> first;
  lowering(reference.kernel_case(), [&](int, std::string_view pass, const kernel::Kernel &kernel) {
    if (!first)
      first = check_kernel(reference, kernel, fmt::format("simulated after {}", pass));
  });
  return first;
}

} // namespace tilefuse::model
