// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/simulate_group.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "lower/pipeline.h"
#include "model/oracle/exact.h"
#include "model/oracle/expected_group.h"
#include "model/plan/pack.h"
#include "nest/evaluate/evaluate.h"
#include "nest/evaluate/odometer.h"
#include "nest/evaluate/within.h"
#include "nest/index.h"
#include "schedule/staging.h"
#include "target/dtype_traits.h"

namespace tilefuse::model {
namespace {

constexpr std::uint32_t kSeed = 17;
constexpr std::int64_t kLargest = 3;
constexpr std::int64_t kPeriod = 1'000'003; // elements that are drawn, a prime number
constexpr double kUnwritten = 77;           // no small integers sum up to it often
constexpr int kCopies = 3;                  // of each slot: before, after, and as expected
constexpr double kMostMib = 4096;           // of all copies
constexpr std::int64_t kSkip = 4096;        // bytes that are compared at once

bool reads(const nest::Nest &nest, poly::SlotId slot) {
  const auto is_slot = [&](const nest::Operand &operand) { return operand.slot == slot; };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), is_slot) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), is_slot);
}

void check_size(const poly::Group &group) {
  double bytes = 0;
  for (const nest::Slot &slot : group_slots(group))
    bytes += static_cast<double>(slot.elems) * static_cast<double>(size_bytes(slot.type));
  if (const double mib = kCopies * bytes * 0x1p-20; mib > kMostMib)
    throw Error(ErrorCode::Limit,
                fmt::format("simulating kernel {} needs {:.0f} MiB for {} copies of its buffers, "
                            "at most {:.0f} are taken",
                            group.anchor.name, mib, kCopies, kMostMib));
}

// The first `drawn` elements again and again; each copy takes all that is there.
void repeat(program::Bytes &bytes, const nest::Slot &slot, std::int64_t drawn) {
  const auto size = static_cast<std::size_t>(size_bytes(slot.type));
  std::size_t done = static_cast<std::size_t>(drawn) * size;
  while (done > 0 && done < bytes.size()) {
    const std::size_t more = std::min(done, bytes.size() - done);
    std::memcpy(bytes.data() + done, bytes.data(), more);
    done += more;
  }
}

// Integers from -3 to 3, from 0 where the type has no sign.
std::vector<program::Bytes> random_slots(const poly::Group &group) {
  std::mt19937 random(kSeed);
  std::vector<program::Bytes> slots;
  for (const nest::Slot &slot : group_slots(group)) {
    program::Bytes &bytes = slots.emplace_back();
    bytes.resize(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    const bool is_signed = traits(slot.type).is_signed;
    const std::int64_t period = std::min(slot.elems, kPeriod);
    for (std::int64_t i = 0; i < period; ++i) {
      const std::int64_t drawn = random() % (2 * kLargest + 1);
      store_element(bytes.data(), slot.type, i,
                    static_cast<double>(is_signed ? drawn - kLargest : drawn % 2));
    }
    repeat(bytes, slot, period);
  }
  const Indexed<poly::SlotId, nest::Slot> all = group_slots(group);
  for (const poly::SlotId slot : written_slots(group)) {
    if (reads(group.anchor, slot) || all[at(slot)].elems == 0)
      continue;
    store_element(slots[at(slot)].data(), all[at(slot)].type, 0, kUnwritten);
    repeat(slots[at(slot)], all[at(slot)], 1);
  }
  return slots;
}

// The first element from `i` on that is another one in `got` than in `before`; else slot.elems.
std::int64_t next_change(const nest::Slot &slot, const program::Bytes &got,
                         const program::Bytes &before, std::int64_t i) {
  const std::int64_t size = size_bytes(slot.type);
  const std::int64_t end = slot.elems * size;
  std::int64_t at = i * size;
  const auto same = [&](std::int64_t bytes) {
    return std::memcmp(got.data() + at, before.data() + at, static_cast<std::size_t>(bytes)) == 0;
  };
  while (end - at >= kSkip && same(kSkip))
    at += kSkip;
  while (at < end && same(size))
    at += size;
  return at / size;
}

// Output indices from the largest stride of the result to the smallest, where each steps over all
// elements of those behind it: only then does an element tell its indices.
std::optional<std::vector<std::size_t>> by_stride(const nest::Nest &nest, const nest::Linear &out) {
  std::vector<std::size_t> order(static_cast<std::size_t>(nest.output_indices));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return out.coeff[a] > out.coeff[b]; });
  std::int64_t behind = 0;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    const std::int64_t extent = nest.indices[*i].extent;
    if (extent > 1 && out.coeff[*i] <= behind)
      return std::nullopt;
    behind += out.coeff[*i] * (extent - 1);
  }
  return order;
}

// The smallest box of output indices with all elements that changed. Without a box there are none,
// or an element does not tell its indices.
struct Changed {
  bool any = false;
  std::optional<nest::Box> box;
};

Changed changed_box(const nest::Nest &nest, const nest::Slot &slot, const program::Bytes &got,
                    const program::Bytes &before) {
  const nest::Linear out = flat(nest.out, nest.indices.size());
  const auto order = by_stride(nest, out);
  const auto outputs = static_cast<std::size_t>(nest.output_indices);
  std::vector<std::int64_t> first(outputs, slot.elems);
  std::vector<std::int64_t> last(outputs, -1);
  Changed changed;
  for (std::int64_t e = next_change(slot, got, before, 0); e < slot.elems;
       e = next_change(slot, got, before, e + 1)) {
    changed.any = true;
    if (!order)
      return changed;
    std::int64_t rest = e - out.constant;
    for (const std::size_t i : *order) {
      const std::int64_t value = nest.indices[i].extent == 1 ? 0 : rest / out.coeff[i];
      rest -= value * out.coeff[i];
      first[i] = std::min(first[i], value);
      last[i] = std::max(last[i], value);
    }
  }
  if (!changed.any)
    return changed;
  for (std::size_t i = 0; i < outputs; ++i)
    last[i] += 1 - first[i];
  changed.box = nest::Box{std::move(first), std::move(last)};
  return changed;
}

// Elements of a slot that are not the evaluator's, bit by bit: of those the blocks wrote, where
// `before` is given, else of all.
std::vector<std::int64_t> unequal(const nest::Slot &slot, const program::Bytes &got,
                                  const program::Bytes &expected, const program::Bytes *before,
                                  SimulatedGroup &result) {
  const std::int64_t size = size_bytes(slot.type);
  std::vector<std::int64_t> elements;
  for (std::int64_t i = 0; i < slot.elems; ++i) {
    if (before != nullptr)
      i = next_change(slot, got, *before, i);
    if (i >= slot.elems)
      break;
    ++result.compared;
    if (std::memcmp(got.data() + i * size, expected.data() + i * size,
                    static_cast<std::size_t>(size)) != 0)
      elements.push_back(i);
  }
  return elements;
}

void count_difference(SimulatedGroup &result, std::int64_t element, double got, double want,
                      double bound) {
  if (result.different++ == 0)
    result.first_difference = fmt::format("element {} is {}, must be {}{}", element, got, want,
                                          bound > 0 ? fmt::format(" within {:.3g}", bound) : "");
}

// Points of the output indices that store these elements, which are in order.
std::vector<std::vector<std::int64_t>> points_of(const nest::Nest &nest,
                                                 const std::vector<std::int64_t> &elements) {
  const nest::Linear out = flat(nest.out, nest.indices.size());
  Random random(kSeed);
  std::vector<std::vector<std::int64_t>> points;
  for (std::vector<std::int64_t> &point :
       nest::output_points(nest, std::numeric_limits<std::int64_t>::max(), random)) {
    std::int64_t element = out.constant;
    for (std::size_t i = 0; i < point.size(); ++i)
      element += out.coeff[i] * point[i];
    if (std::binary_search(elements.begin(), elements.end(), element))
      points.push_back(std::move(point));
  }
  return points;
}

// What a kernel stored in a slot, and which elements of it are not the evaluator's.
struct Written {
  const program::Bytes &got;
  std::vector<std::int64_t> elements;
  double input_roundoff = 0;
};

// Elements that are not the evaluator's may be within their bounds; those that no point of the nest
// stores may not.
void judge(const poly::Group &group, std::vector<program::Bytes> before, const Written &written,
           SimulatedGroup &result) {
  const nest::Nest &nest = group.anchor;
  const nest::Slot &slot = slot_of(nest, nest.out);
  const std::vector<std::span<std::byte>> slots(before.begin(), before.end());
  std::int64_t judged = 0;
  for (const nest::Expectation &want :
       poly::expect(group, slots, points_of(nest, written.elements), written.input_roundoff)) {
    ++judged;
    const double value = load_element(written.got.data(), slot.type, want.element);
    const double apart = std::fabs(value - want.value);
    const bool is_same = value == want.value || (std::isnan(value) && std::isnan(want.value));
    if (!is_same && !(apart <= want.bound)) {
      count_difference(result, want.element, value, want.value, want.bound);
      continue;
    }
    ++result.rounded;
    if (!is_same)
      result.largest_share = std::max(result.largest_share, apart / want.bound);
  }
  result.different += static_cast<std::int64_t>(written.elements.size()) - judged;
  if (result.different > 0 && result.first_difference.empty())
    result.first_difference = fmt::format(
        "element {} was overwritten; no point of the nest stores it", written.elements.front());
}

// The same of a slot that the anchor, a producer whose result is stored, or a sum of what the anchor
// has stored writes.
void judge_slot(const poly::Group &group, poly::SlotId slot,
                const std::vector<program::Bytes> &before, const std::vector<program::Bytes> &after,
                const Written &written, SimulatedGroup &result) {
  if (group_slot(group, poly::kAnchor, group.anchor.out.slot) == slot)
    return judge(group, before, written, result);
  for (const poly::TileSum &sum : group.sums) {
    if (sum.slots[sum.nest.out.slot] != slot)
      continue;
    std::vector<program::Bytes> own;
    for (const poly::SlotId s : sum.slots)
      own.push_back(s == group.anchor.out.slot ? after[at(s)] : before[at(s)]);
    return judge({sum.nest}, std::move(own), written, result);
  }
  for (const poly::MemberId m : producing_members(group)) {
    const poly::Producer &producer = producer_at(group, m);
    if (!producer.stored || producer.slots[producer.nest.out.slot] != slot)
      continue;
    std::vector<program::Bytes> own;
    for (const poly::SlotId s : producer.slots)
      own.push_back(before[at(s)]);
    return judge({producer.nest, {}}, std::move(own), written, result);
  }
}

std::vector<std::span<std::byte>> spans(std::vector<program::Bytes> &slots) {
  return {slots.begin(), slots.end()};
}

// The evaluator's results at least where some blocks' kernel wrote. Only a nest without producers
// is evaluated in parts.
void evaluate_written(const poly::Group &group, const std::vector<program::Bytes> &got,
                      const std::vector<program::Bytes> &before,
                      std::vector<program::Bytes> &expected) {
  if (!is_alone(group))
    return poly::evaluate(group, spans(expected));
  const nest::Nest &nest = group.anchor;
  const std::size_t slot = at(nest.out.slot);
  const Changed changed = changed_box(nest, slot_of(nest, nest.out), got[slot], before[slot]);
  if (!changed.any)
    return;
  std::vector<std::span<std::byte>> bound;
  for (std::size_t s = 0; s < nest.slots.size(); ++s)
    bound.emplace_back(expected[at(s)]);
  nest::evaluate(changed.box ? nest::within(nest, *changed.box) : nest, bound);
}

} // namespace

double input_roundoff(const schedule::Schedule &schedule) {
  constexpr double kTf32Roundoff = 0x1p-10; // of a mantissa of 10 bits, truncated
  const CoreOp *op = schedule.core.op;
  return op != nullptr && op->tf32 ? kTf32Roundoff : 0;
}

std::vector<bool> written_elements(const nest::Nest &nest) {
  std::vector<bool> written(static_cast<std::size_t>(slot_of(nest, nest.out).elems));
  std::vector<std::size_t> loops;
  for (const nest::IndexId i : output_indices(nest))
    loops.push_back(at(i));
  nest::Odometer odometer(nest.indices, loops, {flat(nest.out, nest.indices.size())});
  do {
    written.at(static_cast<std::size_t>(odometer.values()[0])) = true;
  } while (odometer.next());
  return written;
}

std::vector<std::span<std::byte>> kernel_arguments(const poly::Group &group,
                                                   const schedule::Schedule &schedule,
                                                   std::span<program::Bytes> slots,
                                                   std::vector<program::Bytes> &packed) {
  const std::vector<schedule::KernelArg> list = schedule::kernel_args(group, schedule);
  packed.clear();
  packed.reserve(list.size());
  std::vector<std::span<std::byte>> args;
  for (const schedule::KernelArg &arg : list) {
    if (arg.slot) {
      args.emplace_back(slots[at(*arg.slot)]);
      continue;
    }
    packed.push_back(pack(group, schedule, arg, slots[at(slot_of(group, arg))]));
    args.emplace_back(packed.back());
  }
  return args;
}

kernel::SimulationOptions simulation_options(const poly::Group &group,
                                             const schedule::Schedule &schedule,
                                             const Target &target) {
  kernel::SimulationOptions options{.target = target};
  const std::vector<schedule::KernelArg> list = schedule::kernel_args(group, schedule);
  for (const poly::MemberId m : members(group)) {
    const nest::Nest &nest = member_nest(group, m);
    const poly::SlotId slot = group_slot(group, m, nest.out.slot);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].slot != slot || (m != poly::kAnchor && !producer_at(group, m).stored))
        continue;
      options.writes.push_back({i, written_elements(nest)});
      if (reads(nest, nest.out.slot))
        options.updated.push_back(i);
    }
  }
  for (const poly::TileSum &sum : group.sums)
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].slot == sum.slots[sum.nest.out.slot])
        options.writes.push_back({i, written_elements(sum.nest)});
  return options;
}

Simulated try_kernel(const kernel::Kernel &kernel, std::span<const std::span<std::byte>> globals,
                     const kernel::SimulationOptions &options) {
  for (const std::int64_t block : options.blocks)
    if (block >= kernel.blocks)
      throw Error(ErrorCode::Limit, fmt::format("there is no block {}: kernel {} has {}", block,
                                                kernel.name, kernel.blocks));
  try {
    return {kernel::simulate(kernel, globals, options), {}};
  } catch (const Error &complaint) {
    return {{}, (complaint.where().empty() ? "" : complaint.where() + ": ") + complaint.message()};
  }
}

SimulatedGroup simulate_group(const poly::Group &group, const schedule::Schedule &schedule,
                              const Target &target, const std::vector<std::int64_t> &blocks) {
  SimulatedGroup result;
  check_size(group);
  result.kernel = lower::lower(group, schedule, target);
  std::vector<program::Bytes> slots = random_slots(group);
  const std::vector<program::Bytes> before = slots;
  std::vector<program::Bytes> expected = slots;
  kernel::SimulationOptions options = simulation_options(group, schedule, target);
  options.blocks = blocks;
  options.banks = &result.banks;
  std::vector<program::Bytes> packed;
  const auto args = kernel_arguments(group, schedule, slots, packed);
  Simulated run = try_kernel(result.kernel, args, options);
  result.counts = std::move(run.counts);
  result.fault = std::move(run.fault);
  if (!result.fault.empty())
    return result;
  if (blocks.empty())
    poly::evaluate(group, spans(expected));
  else
    evaluate_written(group, slots, before, expected);
  const Indexed<poly::SlotId, nest::Slot> all = group_slots(group);
  const bool exact = is_exact({.group = group, .schedule = schedule, .target = target});
  for (const poly::SlotId slot : written_slots(group)) {
    const program::Bytes &got = slots[at(slot)];
    const std::vector<std::int64_t> elements =
        unequal(all[at(slot)], got, expected[at(slot)],
                blocks.empty() ? nullptr : &before[at(slot)], result);
    if (elements.empty())
      continue;
    if (exact)
      for (const std::int64_t i : elements)
        count_difference(result, i, load_element(got.data(), all[at(slot)].type, i),
                         load_element(expected[at(slot)].data(), all[at(slot)].type, i), 0);
    else
      judge_slot(group, slot, before, slots, {got, elements, input_roundoff(schedule)}, result);
  }
  return result;
}

} // namespace tilefuse::model
