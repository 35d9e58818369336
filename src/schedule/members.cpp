// SPDX-License-Identifier: Apache-2.0
#include "schedule/members.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/index.h"
#include "schedule/dots.h"
#include "schedule/legal_alone.h"
#include "schedule/mma/core.h"
#include "schedule/mma/core_feeds.h"
#include "schedule/mma/core_roles.h"
#include "schedule/mma/row_products.h"
#include "schedule/ownership.h"
#include "schedule/rolling.h"
#include "schedule/stage_copy.h"
#include "schedule/text.h"
#include "schedule/wgmma/tile_sums.h"
#include "schedule/wgmma/wgmma_panels.h"

namespace tilefuse::schedule {
namespace {

using nest::Nest;
using poly::Feed;
using poly::Group;
using poly::kAnchor;
using poly::MemberId;
using poly::Producer;
using poly::SlotId;
using Reason = std::optional<std::string>;

constexpr std::string_view kMark = "producer ";

// What a map stores beside staging it, each element is stored once (L7).
Reason wrong_store(const Group &group, const Schedule &schedule, MemberId member) {
  const Producer &p = producer_at(group, member);
  std::string why;
  if (!p.stored)
    return {};
  if (p.feed != Feed::Map)
    why = "it is no map";
  else if (p.consumer != kAnchor)
    why = "it does not feed the anchor";
  else if (schedule.lanes == LaneKind::Vector &&
           schedule.pipes[at(p.input)].layout == Layout::Transposed)
    why = "its tile is turned";
  else if (ownership(group.anchor, schedule, p.input, &why))
    return {};
  return fmt::format("member {} cannot be stored as well: {}", member, why);
}

// Every fed input is staged in the way of its producer, and no other is produced.
Reason wrong_feeds(const Group &group, const Schedule &schedule, MemberId member) {
  const std::vector<Fill> &fills = member_schedule(schedule, member).fills;
  const std::vector<Pipe> &stages = member_schedule(schedule, member).pipes;
  for (std::size_t k = 0; k < fills.size(); ++k) {
    const std::optional<MemberId> feeder = producer_of(group, member, static_cast<int>(k));
    const bool maps = feeder && producer_at(group, *feeder).feed == Feed::Map;
    const bool produces = feeder && has_schedule(group, *feeder);
    if (produces != (fills[k] == Fill::Produced))
      return produces
                 ? fmt::format("input {} of member {} is computed by the group and must be "
                               "produced",
                               k, member)
                 : fmt::format("input {} of member {} is produced, but by nothing in the group", k,
                               member);
    if (feeder && !produces && has_core(schedule))
      continue; // the ring's (core_feeds.h)
    if (feeder && !produces && !maps)
      return "a copy spreads to windows of a core instruction alone";
    if (maps && fills[k] != Fill::Local)
      return fmt::format("input {} of member {} is computed by a map and must be staged", k,
                         member);
    if (maps && stages[k].is_async())
      return fmt::format("input {} of member {} is computed by a map, and asynchronous copies "
                         "compute nothing",
                         k, member);
    if (feeder)
      if (Reason reason = wrong_store(group, schedule, *feeder))
        return reason;
  }
  return {};
}

// A number that divides every first point that a tile of the member has in index i; 0: it is 0.
std::int64_t start_divisor(const Group &group, const std::vector<Nest> &nests,
                           const Schedule &schedule, MemberId member, IndexId i) {
  const std::int64_t whole = nest::extent(member_nest(group, member), i);
  const std::int64_t extent = nest::extent(nests[at(member)], i);
  if (extent == whole)
    return 0;
  const Producer &producer = producer_at(group, member);
  const Nest &consumer = nests[at(producer.consumer)];
  const Schedule &own = member_schedule(schedule, producer.consumer);
  const nest::Operand &input = consumer.inputs[at(producer.input)];
  const auto indices = poly::match_dims(input, producer.nest).value();
  std::int64_t divisor = 0;
  for (const StageDim &dim : stage_tile(consumer, own, producer.input).dims) {
    if (indices[at(dim.dim)] != i)
      continue;
    const nest::Linear &form = input.dims[at(dim.dim)].at;
    divisor = std::gcd(form.constant + dim.lowest + dim.before, dim.checked ? whole - extent : 0);
    for (const IndexId j : form.coeff.ids()) {
      const bool is_output = nest::is_output(consumer, j);
      const bool by_steps = own.pipes[at(producer.input)].at.has_value();
      const std::int64_t tile = is_output && by_steps ? own.splits[j].step() : own.splits[j].tile;
      const bool moves = is_output || holds_chunk(consumer, own, producer.input, j);
      divisor = std::gcd(divisor, moves ? form.coeff[j] * tile : 0);
      if (is_output && form.coeff[j] != 0)
        divisor = std::gcd(
            divisor, form.coeff[j] * start_divisor(group, nests, schedule, producer.consumer, j));
    }
  }
  return divisor;
}

// Tiles of a producer must begin with a step where its constants are packed by steps.
Reason wrong_packing(const Group &group, const std::vector<Nest> &nests, const Schedule &schedule,
                     MemberId member) {
  const Schedule &own = member_schedule(schedule, member);
  const Nest &whole = member_nest(group, member);
  for (std::size_t k = 0; k < own.fills.size(); ++k) {
    const nest::Linear flat = nest::flat(whole.inputs[k], whole.indices.size());
    for (const IndexId i : output_indices(whole))
      if (is_packed(own.fills[k]) && flat.coeff[i] != 0 &&
          start_divisor(group, nests, schedule, member, i) % own.splits[i].step() != 0)
        return fmt::format("input {} of member {} is packed by steps of {}, inside which its tiles "
                           "begin",
                           k, member, whole.indices[i].name);
  }
  return {};
}

// Bodies for the ends of an index know where they are, which a tile that moves does not.
Reason wrong_edges(const Group &group, const std::vector<Nest> &nests, const Schedule &schedule,
                   MemberId member) {
  const Nest &whole = member_nest(group, member);
  for (const IndexId i : whole.indices.ids())
    if (member_schedule(schedule, member).splits[i].edge &&
        extent(nests[at(member)], i) != extent(whole, i))
      return fmt::format("member {}: {} has edges, which a tile of it has not", member,
                         whole.indices[i].name);
  return {};
}

// Results of warps' matrix instructions are stored where the consumer stages them.
Reason wrong_core_producer(const Nest &tile, const Schedule &own) {
  if (!has_core(own))
    return {};
  if (is_wgmma(*own.core.op))
    return "a producer has no work-items of its own, which wgmma's copies need";
  if (no_core_roles(tile, false))
    return {};
  const CoreRoles roles = core_roles(tile, own);
  if (roles.data_turned || roles.filter_turned)
    return "a producer's inputs are straight";
  return {};
}

Reason wrong_producer(const Group &group, const std::vector<Nest> &nests, const Schedule &schedule,
                      MemberId member, const Target &target) {
  const Schedule &own = member_schedule(schedule, member);
  const auto of_member = [&](const std::string &what) {
    return fmt::format("member {}: {}", member, what);
  };
  if (!own.producers.empty())
    return of_member("a producer's schedule has no producers");
  if (own.store == Store::Local)
    return of_member("its results are stored local, where its consumer's buffer takes them");
  if (Reason reason = wrong_core_producer(nests[at(member)], own))
    return of_member(*reason);
  if (has_dot_rows(own))
    return of_member("its dot products are of rows, whose registers are the anchor's");
  if (Reason reason = illegal_alone(nests[at(member)], own, target))
    return of_member(*reason);
  if (own.lanes != schedule.lanes || group_size(own) != group_size(schedule))
    return of_member(
        fmt::format("it has {} work-items, the anchor {}", group_size(own), group_size(schedule)));
  if (Reason reason = wrong_edges(group, nests, schedule, member))
    return reason;
  return wrong_packing(group, nests, schedule, member);
}

Reason wrong_members(const Group &group, const Schedule &schedule, const Target &target) {
  if (has_core(schedule)) {
    if (Reason reason = wrong_core_feeds(group, gemm_of(group.anchor, schedule)))
      return reason;
    return wrong_local_memory(local_buffers(group, schedule), target);
  }
  if (group.producers.empty() && !rolled_index(schedule))
    return wrong_copies(group.anchor, schedule);
  std::vector<Nest> nests = {group.anchor};
  if (Reason reason = wrong_roll(group, nests, schedule, kAnchor))
    return reason;
  if (Reason reason = wrong_copies(group, nests, schedule, kAnchor))
    return reason;
  for (const MemberId m : producing_members(group)) {
    nests.push_back(tile_nest(group, schedule, m, nests));
    if (!has_schedule(group, m))
      continue;
    if (Reason reason = wrong_producer(group, nests, schedule, m, target))
      return reason;
    if (Reason reason = wrong_roll(group, nests, schedule, m))
      return reason;
    if (Reason reason = wrong_feeds(group, schedule, m))
      return reason;
    if (Reason reason = wrong_copies(group, nests, schedule, m))
      return reason;
  }
  if (!group.producers.empty())
    return wrong_local_memory(local_buffers(group, schedule), target);
  return {};
}

MemberId parse_member(std::string_view line, int most, const std::string &file) {
  int member = 0;
  const auto [end, failure] = std::from_chars(line.data(), line.data() + line.size(), member);
  if (failure != std::errc() || end != line.data() + line.size() || member < 1 || member > most)
    throw Error(ErrorCode::Syntax, fmt::format("the group has no producer '{}'", line), file);
  return MemberId{member};
}

} // namespace

Nest tile_nest(const Group &group, const Schedule &schedule, MemberId member,
               const std::vector<Nest> &before) {
  const Producer &producer = producer_at(group, member);
  return tile_nest(producer, before[at(producer.consumer)],
                   member_schedule(schedule, producer.consumer));
}

Nest tile_nest(const Producer &producer, const Nest &consumer, const Schedule &schedule) {
  if (producer.feed == Feed::Spread || producer.feed == Feed::Rows)
    return producer.nest;
  const auto indices = poly::match_dims(consumer.inputs[at(producer.input)], producer.nest).value();
  const StageTile box = stage_tile(consumer, schedule, producer.input);
  Nest tile = producer.nest;
  for (const StageDim &dim : box.dims)
    if (const std::optional<IndexId> index = indices[at(dim.dim)])
      tile.indices[*index].extent = dim.made;
  return tile;
}

std::vector<Nest> tile_nests(const Group &group, const Schedule &schedule) {
  std::vector<Nest> nests = {group.anchor};
  for (const MemberId m : producing_members(group))
    nests.push_back(tile_nest(group, schedule, m, nests));
  return nests;
}

Reason illegal(const Group &group, const Schedule &schedule, const Target &target) {
  if (has_rows(group))
    return wrong_rows(group, schedule, target);
  if (Reason reason = illegal_alone(group.anchor, schedule, target))
    return reason;
  return illegal_together(group, schedule, target);
}

Reason illegal_together(const Group &group, const Schedule &schedule, const Target &target) {
  if (schedule.producers.size() != group.producers.size())
    return fmt::format("it has schedules for {} producers, the group has {}",
                       schedule.producers.size(), group.producers.size());
  if (!sums_are_of_tiles(group, schedule))
    return "the parts of its sums are no tiles whose rows work-items hold whole";
  if (Reason reason = wrong_feeds(group, schedule, kAnchor))
    return reason;
  return wrong_members(group, schedule, target);
}

std::vector<LocalBuffer> local_buffers(const Group &group, const Schedule &schedule) {
  std::vector<LocalBuffer> all;
  const std::vector<Nest> nests = tile_nests(group, schedule);
  for (const MemberId m : members(group))
    for (LocalBuffer &buffer : local_buffers(group, schedule, m, nests[at(m)]))
      all.push_back(std::move(buffer));
  return all;
}

std::vector<KernelArg> kernel_args(const Group &group, const Schedule &schedule) {
  Indexed<SlotId, bool> used(group_slots(group).size(), false);
  std::vector<KernelArg> packed;
  for (const MemberId m : members(group)) {
    const Nest &nest = member_nest(group, m);
    const auto use = [&](const nest::Operand &operand) {
      const SlotId slot = group_slot(group, m, operand.slot);
      used[slot] = used[slot] || !is_internal(group, slot);
    };
    for (std::size_t k = 0; k < nest.inputs.size(); ++k) {
      const int input = static_cast<int>(k);
      if (has_schedule(group, m) && is_packed(member_schedule(schedule, m).fills[k]))
        packed.push_back({.packed_input = input, .member = m});
      else if (!producer_of(group, m, input))
        use(nest.inputs[k]);
    }
    for (const nest::Operand &extra : nest.extras)
      use(extra);
  }
  for (const poly::TileSum &sum : group.sums)
    for (const nest::Operand &input : sum.nest.inputs)
      used[sum.slots[input.slot]] = true;
  for (const SlotId slot : written_slots(group))
    used[slot] = true;
  return kernel_args(used, packed);
}

SlotId slot_of(const Group &group, const KernelArg &arg) {
  if (arg.slot)
    return *arg.slot;
  const Nest &nest = member_nest(group, arg.member);
  return group_slot(group, arg.member, nest.inputs[at(arg.packed_input)].slot);
}

std::string to_text(const Group &group, const Schedule &schedule) {
  std::string text = to_text(group.anchor, schedule);
  for (const MemberId m : producing_members(group))
    if (at(m) <= schedule.producers.size() && has_schedule(group, m))
      text += fmt::format("{}{}\n{}", kMark, m,
                          to_text(member_nest(group, m), member_schedule(schedule, m)));
  return text;
}

Schedule parse_schedule(const Group &group, std::string_view text, const std::string &file) {
  const std::string mark = "\n" + std::string(kMark);
  std::size_t next = text.find(mark);
  Schedule schedule = parse_schedule(group.anchor, text.substr(0, next), file);
  schedule.producers.resize(group.producers.size());
  while (next != std::string_view::npos) {
    text.remove_prefix(next + mark.size());
    const std::size_t line = std::min(text.find('\n'), text.size());
    const MemberId member =
        parse_member(text.substr(0, line), static_cast<int>(group.producers.size()), file);
    text.remove_prefix(line);
    next = text.find(mark);
    member_schedule(schedule, member) =
        parse_schedule(member_nest(group, member), text.substr(0, next), file);
  }
  return schedule;
}

} // namespace tilefuse::schedule
