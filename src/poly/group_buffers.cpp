// SPDX-License-Identifier: Apache-2.0
#include "poly/group_buffers.h"

#include <algorithm>

#include "base/index.h"

namespace tilefuse::poly {

using program::BufferId;

std::set<BufferId> read_buffers(const PlacedGroup &placed) {
  std::set<BufferId> all;
  const Group &group = placed.group;
  for (const MemberId m : members(group)) {
    const nest::Nest &nest = member_nest(group, m);
    for (const std::vector<nest::Operand> *operands : {&nest.inputs, &nest.extras})
      for (const nest::Operand &operand : *operands) {
        const SlotId slot = group_slot(group, m, operand.slot);
        if (!is_internal(group, slot))
          all.insert(placed.buffers[slot]);
      }
  }
  for (const TileSum &sum : group.sums)
    for (const nest::Operand &input : sum.nest.inputs)
      if (sum.slots[input.slot] != group.anchor.out.slot)
        all.insert(placed.buffers[sum.slots[input.slot]]);
  return all;
}

BufferId written_buffer(const PlacedGroup &placed) {
  return placed.buffers[placed.group.anchor.out.slot];
}

bool writes(const PlacedGroup &placed, BufferId buffer) {
  const std::vector<SlotId> slots = written_slots(placed.group);
  return std::any_of(slots.begin(), slots.end(),
                     [&](SlotId slot) { return placed.buffers[slot] == buffer; });
}

std::optional<int> only_input(const PlacedGroup &placed, BufferId buffer) {
  std::optional<int> found;
  const Group &group = placed.group;
  for (const TileSum &sum : group.sums)
    for (const nest::Operand &input : sum.nest.inputs)
      if (placed.buffers[sum.slots[input.slot]] == buffer)
        return std::nullopt;
  for (const MemberId m : members(group)) {
    const nest::Nest &nest = member_nest(group, m);
    const auto reads = [&](const nest::Operand &operand) {
      return placed.buffers[group_slot(group, m, operand.slot)] == buffer;
    };
    if (std::any_of(nest.extras.begin(), nest.extras.end(), reads))
      return std::nullopt;
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      if (!reads(nest.inputs[k]))
        continue;
      if (found || m != kAnchor)
        return std::nullopt;
      found = static_cast<int>(k);
    }
  }
  return found;
}

} // namespace tilefuse::poly
