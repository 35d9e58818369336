// SPDX-License-Identifier: Apache-2.0
#include "schedule/rolling.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/index.h"
#include "nest/index.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using poly::Group;
using poly::kAnchor;
using poly::MemberId;
using poly::Producer;
using Reason = std::optional<std::string>;

// The dimension of an operand that moves with an index: -1 for none, -2 for several.
int moved_dim(const nest::Operand &operand, IndexId index) {
  int found = -1;
  for (std::size_t d = 0; d < operand.dims.size(); ++d)
    if (operand.dims[d].at.coeff[index] != 0)
      found = found == -1 ? static_cast<int>(d) : -2;
  return found;
}

// Of the anchor: one output index, in a block of one work-item, and something that stays.
Reason wrong_run(const Group &group, const Schedule &schedule) {
  const Nest &nest = group.anchor;
  const IndexId rolled = rolled_index(schedule).value();
  const std::string &name = nest.indices[rolled].name;
  if (has_core(schedule) || schedule.lanes != LaneKind::Vector)
    return fmt::format("{} rolls, which needs blocks of one work-item", name);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (schedule.fills[k] == Fill::Produced && moves(nest.inputs[k], rolled))
      return {};
  return fmt::format("{} rolls, and no produced input moves with it", name);
}

// Of a producer: rows can be begun anywhere and computed one by one.
Reason wrong_rows(const Nest &nest, const Schedule &own, IndexId rolled) {
  const Split &split = own.splits[rolled];
  const std::string &name = nest.indices[rolled].name;
  if (split.roll != 1)
    return fmt::format("a producer's {} rolls through {} tiles; one fills the buffer", name,
                       split.roll);
  if (split.lane * split.vec != 1 || split.edge)
    return fmt::format("{} rolls, and has lanes or edges", name);
  if (split.tile < extent(nest, rolled))
    return fmt::format("{} rolls, and is not one tile", name);
  for (std::size_t k = 0; k < nest.inputs.size(); ++k)
    if (is_packed(own.fills[k]) && moves(nest.inputs[k], rolled))
      return fmt::format("input {} is packed along {}, which rolls", k, name);
  return {};
}

// Rows that stay are filled once per tile, and by nothing else in between.
Reason wrong_filling(const Nest &nest, const Schedule &own, MemberId member, IndexId rolled) {
  for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
    if (own.fills[k] != Fill::Produced || !moves(nest.inputs[k], rolled))
      continue;
    if (own.pipes[k].at)
      return fmt::format("rows of input {} stay, and it is produced in chunks", k);
    for (const IndexId i : output_indices(nest))
      if (member != kAnchor && own.splits[i].tile < extent(nest, i))
        return fmt::format("rows of input {} stay, and {} has several tiles", k,
                           nest.indices[i].name);
  }
  return {};
}

} // namespace

std::optional<IndexId> rolled_index(const Schedule &schedule) {
  for (const IndexId i : schedule.splits.ids())
    if (schedule.splits[i].roll > 0)
      return i;
  return std::nullopt;
}

int rolled_dim(const Nest &nest, const Schedule &schedule, int input) {
  const std::optional<IndexId> rolled = rolled_index(schedule);
  return rolled ? moved_dim(nest.inputs[at(input)], *rolled) : -1;
}

std::int64_t Rolling::kept(const Nest &tile) const {
  return index ? std::max<std::int64_t>(0, extent(tile, *index) - advance) : 0;
}

double Rolling::moved(const Nest &tile) const {
  if (!index)
    return 0;
  const auto of_tile = static_cast<double>(extent(tile, *index));
  return (1 - 1 / tiles) * static_cast<double>(kept(tile)) / of_tile;
}

// Every row inside the tensor once, and again those at which blocks begin.
double Rolling::computed(const Nest &tile) const {
  if (!index)
    return 1;
  const auto of_tile = static_cast<double>(extent(tile, *index));
  const double reached = static_cast<double>(advance) * (tiles * blocks - 1) + of_tile;
  const double again = static_cast<double>(kept(tile)) * (blocks - 1);
  const double done = std::min(reached, static_cast<double>(rows)) + again;
  return std::min(1.0, done / (tiles * blocks * of_tile));
}

Rolling rolling(const Nest &anchor, const Schedule &schedule) {
  const std::optional<IndexId> rolled = rolled_index(schedule);
  if (!rolled)
    return {};
  const Split &split = schedule.splits[*rolled];
  const std::int64_t rows = extent(anchor, *rolled);
  const auto count = [&](std::int64_t points) {
    return static_cast<double>((rows + points - 1) / points);
  };
  const double blocks = count(split.of_block());
  return {rolled, split.tile, count(split.tile) / blocks, blocks, rows};
}

Rolling rolling(const Group &group, const Schedule &schedule, MemberId member) {
  if (member == kAnchor)
    return rolling(group.anchor, schedule);
  const MemberId consumer = producer_at(group, member).consumer;
  return follow(group, member_nest(group, consumer), member_schedule(schedule, consumer),
                rolling(group, schedule, consumer), member)
      .value();
}

std::optional<Rolling> follow(const Group &group, const Nest &consumer, const Schedule &own,
                              const Rolling &by, MemberId producer, std::string *why) {
  const Producer &p = producer_at(group, producer);
  const nest::Operand &input = consumer.inputs[at(p.input)];
  const int d = rolled_dim(consumer, own, p.input);
  if (d == -1 || p.feed == poly::Feed::Map)
    return Rolling{};
  const std::optional<IndexId> index =
      d < 0 ? std::nullopt : poly::match_dims(input, p.nest).value()[at(d)];
  const std::int64_t coeff = d < 0 ? 0 : input.dims[at(d)].at.coeff[*rolled_index(own)];
  if (index && coeff > 0)
    return Rolling{index, coeff * by.advance, by.tiles, by.blocks, extent(p.nest, *index)};
  if (why != nullptr)
    *why = fmt::format("rows of input {} cannot stay: no single dimension of it moves onward with "
                       "{}",
                       p.input, consumer.indices[*rolled_index(own)].name);
  return std::nullopt;
}

Reason wrong_roll(const Group &group, const std::vector<Nest> &nests, const Schedule &schedule,
                  MemberId member) {
  const Schedule &own = member_schedule(schedule, member);
  const std::optional<IndexId> rolled = rolled_index(own);
  const auto rolls = [](const Split &split) { return split.roll != 0; };
  if (std::count_if(own.splits.begin(), own.splits.end(), rolls) > (rolled ? 1 : 0))
    return fmt::format("member {}: more than one index rolls", member);
  std::optional<IndexId> due = rolled;
  if (member != kAnchor) {
    const Producer &p = producer_at(group, member);
    std::string why;
    const std::optional<Rolling> found = follow(
        group, nests[at(p.consumer)], member_schedule(schedule, p.consumer), {}, member, &why);
    if (!found)
      return fmt::format("member {}: {}", p.consumer, why);
    due = found->index;
  }
  if (rolled != due)
    return fmt::format("member {}: its consumer's tiles move {}", member,
                       due ? "along its " + nests[at(member)].indices[*due].name
                           : std::string("nothing of it that rolls"));
  if (!rolled)
    return {};
  const Nest &nest = nests[at(member)];
  Reason reason = member == kAnchor ? wrong_run(group, schedule) : wrong_rows(nest, own, *rolled);
  if (!reason)
    reason = wrong_filling(nest, own, member, *rolled);
  return reason ? Reason(fmt::format("member {}: {}", member, *reason)) : Reason{};
}

} // namespace tilefuse::schedule
