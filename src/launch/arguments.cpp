// SPDX-License-Identifier: Apache-2.0
#include "launch/arguments.h"

#include <algorithm>

#include "base/index.h"
#include "schedule/members.h"

namespace tilefuse::launch {
namespace {

struct Known {
  program::BufferId buffer;
  nest::Slot slot;
  int number;
};

} // namespace

Arguments arguments(const Launch &launch) {
  Arguments found;
  std::vector<Known> known;
  for (std::size_t p = 0; p < launch.parts.size(); ++p) {
    const poly::PlacedGroup &placed = launch.parts[p].placed;
    const Indexed<poly::SlotId, nest::Slot> slots = group_slots(placed.group);
    std::vector<int> &numbers = found.of_parts.emplace_back();
    for (const schedule::KernelArg &arg : kernel_args(placed.group, launch.parts[p].schedule)) {
      const auto number = static_cast<int>(found.all.size());
      const poly::SlotId slot = slot_of(placed.group, arg);
      const Known mine{placed.buffers[slot], slots[slot], number};
      const auto same = std::find_if(known.begin(), known.end(), [&](const Known &other) {
        return arg.slot && other.buffer == mine.buffer && other.slot == mine.slot;
      });
      numbers.push_back(same == known.end() ? number : same->number);
      if (same != known.end())
        continue;
      found.all.push_back({p, arg});
      if (arg.slot)
        known.push_back(mine);
    }
  }
  return found;
}

program::BufferId buffer_of(const Launch &launch, const Argument &argument) {
  const poly::PlacedGroup &placed = launch.parts[argument.part].placed;
  return placed.buffers[slot_of(placed.group, argument.arg)];
}

} // namespace tilefuse::launch
