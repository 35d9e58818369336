// SPDX-License-Identifier: Apache-2.0
#include "poly/group_legality.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/index.h"
#include "nest/index.h"
#include "poly/isl/legality.h"
#include "poly/isl/scop.h"

namespace tilefuse::poly {
namespace {

constexpr std::int64_t kTile = 8; // points of a tile whose needs are examined

// How an operand walks its slot: offset, then size and stride by dimension longer than one.
using Walked = std::pair<std::int64_t, std::vector<std::pair<std::int64_t, std::int64_t>>>;

Walked walked(const nest::Operand &operand) {
  Walked form{operand.offset, {}};
  for (const nest::Dim &dim : operand.dims)
    form.second.emplace_back(dim.size, dim.stride);
  return form;
}

// Slots that operands of the group's members walk in different ways.
std::vector<bool> slots_by_place(const Group &group) {
  std::vector<bool> by_place(group_slots(group).size(), false);
  std::map<SlotId, Walked> first;
  const auto see = [&](MemberId member, const nest::Operand &operand) {
    const SlotId slot = group_slot(group, member, operand.slot);
    const auto [found, is_new] = first.emplace(slot, walked(operand));
    if (!is_new && found->second != walked(operand))
      by_place[at(slot)] = true;
  };
  for (const MemberId m : members(group)) {
    const nest::Nest &nest = member_nest(group, m);
    for (const nest::Operand &operand : nest.inputs)
      see(m, operand);
    for (const nest::Operand &operand : nest.extras)
      see(m, operand);
    see(m, nest.out);
  }
  return by_place;
}

// Producers first, in the order in which they run.
Scop scop_of(const Group &group) {
  const std::vector<bool> by_place = slots_by_place(group);
  std::vector<ScopNest> nests;
  for (const MemberId m : members(group).reversed()) {
    ScopNest nest{&member_nest(group, m), {}, {}};
    for (const SlotId s : nest.nest->slots.ids()) {
      const SlotId slot = group_slot(group, m, s);
      nest.memory.push_back(fmt::format("B{}", slot));
      nest.by_place.push_back(by_place[at(slot)]);
    }
    nests.push_back(std::move(nest));
  }
  return make_scop(nests);
}

// Different points of the output indices are different elements.
bool writes_each_once(const nest::Nest &nest) {
  std::vector<bool> is_seen(nest.indices.size(), false);
  for (const nest::Dim &dim : nest.out.dims) {
    int used = 0;
    for (std::size_t i = 0; i < dim.at.coeff.size(); ++i)
      if (dim.at.coeff[i] != 0 && nest.indices[i].extent > 1) {
        ++used;
        is_seen[i] = true;
      }
    if (used > 1)
      return false;
  }
  for (const IndexId i : output_indices(nest))
    if (extent(nest, i) > 1 && !is_seen[at(i)])
      return false;
  return true;
}

bool reads_its_result(const nest::Nest &nest) {
  const auto is_out = [&](const nest::Operand &operand) { return operand.slot == nest.out.slot; };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), is_out) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), is_out);
}

} // namespace

bool is_plainly_legal(const Group &group) {
  const auto is_constrained = [](const Producer &producer) {
    return !producer.nest.constraints.empty();
  };
  return !broken_rule(group) && writes_each_once(group.anchor) && !reads_its_result(group.anchor) &&
         std::none_of(group.producers.begin(), group.producers.end(), is_constrained);
}

std::optional<std::string> illegal_fusion(const Group &group, std::int64_t quota) {
  const Quota limit(quota);
  const Scop scop = scop_of(group);
  Chosen producers;
  Chosen consumers;
  for (const ScopStatement &statement : scop.statements)
    (statement.nest < group.producers.size() ? producers : consumers).push_back(statement.name);
  std::vector<std::int64_t> sizes;
  for (const IndexId i : output_indices(group.anchor))
    sizes.push_back(std::min(kTile, extent(group.anchor, i)));
  const Fusion fusion = propose(scop, dependences(scop), producers, consumers, sizes);
  const std::vector<std::string> found = refusals(fusion);
  if (found.empty())
    return std::nullopt;
  return found.front();
}

} // namespace tilefuse::poly
