// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/simulate_group.h"

#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "lower/pipeline.h"
#include "model/plan/pack.h"
#include "nest/evaluate/odometer.h"
#include "nest/flatten/passes.h"
#include "schedule/staging.h"

namespace tilefuse::model {
namespace {

constexpr std::uint32_t kSeed = 17;
constexpr std::int64_t kLargest = 3;
constexpr double kUnwritten = 77; // no small integers sum up to it often

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool reads(const nest::Nest &nest, int slot) {
  const auto is_slot = [&](const nest::Operand &operand) { return operand.slot == slot; };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), is_slot) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), is_slot);
}

// Integers from -3 to 3, from 0 where the type has no sign.
std::vector<program::Bytes> random_slots(const poly::Group &group) {
  std::mt19937 random(kSeed);
  std::vector<program::Bytes> slots;
  for (const nest::Slot &slot : group_slots(group)) {
    program::Bytes &bytes = slots.emplace_back();
    bytes.resize(static_cast<std::size_t>(slot.elems * size_bytes(slot.type)));
    const bool is_signed = slot.type != DType::U8 && slot.type != DType::Bool;
    for (std::int64_t i = 0; i < slot.elems; ++i) {
      const std::int64_t drawn = random() % (2 * kLargest + 1);
      store_element(bytes.data(), slot.type, i,
                    static_cast<double>(is_signed ? drawn - kLargest : drawn % 2));
    }
  }
  const std::vector<nest::Slot> all = group_slots(group);
  for (const int slot : written_slots(group))
    for (std::int64_t i = 0; !reads(group.anchor, slot) && i < all[at(slot)].elems; ++i)
      store_element(slots[at(slot)].data(), all[at(slot)].type, i, kUnwritten);
  return slots;
}

// What the blocks wrote, where they differ from the unwritten buffer or all of it was to be
// written.
void compare(const nest::Slot &slot, const program::Bytes &got, const program::Bytes &expected,
             const program::Bytes *before, SimulatedGroup &result) {
  const std::int64_t size = size_bytes(slot.type);
  const auto is_same = [&](const program::Bytes &a, const program::Bytes &b, std::int64_t i) {
    return std::memcmp(a.data() + i * size, b.data() + i * size, static_cast<std::size_t>(size)) ==
           0;
  };
  for (std::int64_t i = 0; i < slot.elems; ++i) {
    if (before != nullptr && is_same(got, *before, i))
      continue;
    ++result.compared;
    if (is_same(got, expected, i))
      continue;
    if (result.different++ == 0)
      result.first_difference =
          fmt::format("element {} is {}, must be {}", i, load_element(got.data(), slot.type, i),
                      load_element(expected.data(), slot.type, i));
  }
}

std::vector<std::span<std::byte>> spans(std::vector<program::Bytes> &slots) {
  return {slots.begin(), slots.end()};
}

} // namespace

std::vector<bool> written_elements(const nest::Nest &nest) {
  std::vector<bool> written(static_cast<std::size_t>(nest.slots[at(nest.out.slot)].elems));
  std::vector<std::size_t> loops;
  for (int i = 0; i < nest.output_indices; ++i)
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
    if (arg.slot >= 0) {
      args.emplace_back(slots[at(arg.slot)]);
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
  for (int m = 0; m <= static_cast<int>(group.producers.size()); ++m) {
    const nest::Nest &nest = member_nest(group, m);
    const int slot = group_slot(group, m, nest.out.slot);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].slot != slot || (m > 0 && !group.producers[at(m - 1)].stored))
        continue;
      options.writes.push_back({i, written_elements(nest)});
      if (reads(nest, nest.out.slot))
        options.updated.push_back(i);
    }
  }
  return options;
}

SimulatedGroup simulate_group(const poly::Group &group, const schedule::Schedule &schedule,
                              const Target &target, const std::vector<std::int64_t> &blocks) {
  SimulatedGroup result;
  result.kernel = lower::lower(group, schedule, target);
  std::vector<program::Bytes> slots = random_slots(group);
  const std::vector<program::Bytes> before = slots;
  std::vector<program::Bytes> expected = slots;
  poly::evaluate(group, spans(expected));
  kernel::SimulationOptions options = simulation_options(group, schedule, target);
  options.blocks = blocks;
  std::vector<program::Bytes> packed;
  const auto args = kernel_arguments(group, schedule, slots, packed);
  result.counts = kernel::simulate(result.kernel, args, options);
  const std::vector<nest::Slot> all = group_slots(group);
  for (const int slot : written_slots(group))
    compare(all[at(slot)], slots[at(slot)], expected[at(slot)],
            blocks.empty() ? nullptr : &before[at(slot)], result);
  return result;
}

} // namespace tilefuse::model
