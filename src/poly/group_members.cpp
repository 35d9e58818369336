// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/evaluate/evaluate.h"
#include "nest/index.h"
#include "poly/group.h"
#include "poly/row_group.h"

namespace tilefuse::poly {
namespace {

// The index that runs over exactly this dimension of several elements.
std::optional<IndexId> whole_index(const nest::Nest &nest, const nest::Dim &dim) {
  std::optional<IndexId> found;
  for (const IndexId i : dim.at.coeff.ids()) {
    if (dim.at.coeff[i] == 0)
      continue;
    if (found || dim.at.coeff[i] != 1 || extent(nest, i) != dim.size)
      return std::nullopt;
    found = i;
  }
  return dim.size > 1 && dim.at.constant == 0 ? found : std::nullopt;
}

// Of a tensor's elements, converted at most.
bool is_copy(const nest::Nest &nest) {
  const program::Expr &post = nest.post;
  const bool is_value =
      post.kind == program::Expr::Kind::Acc ||
      (post.kind == program::Expr::Kind::Cast && post.args[0].kind == program::Expr::Kind::Acc);
  return nest.agg == program::Agg::Assign && nest.inputs.size() == 1 && nest.extras.empty() &&
         nest.constraints.empty() && is_value &&
         nest.output_indices == static_cast<int>(nest.indices.size());
}

bool reads_slot(const Group &group, MemberId member, SlotId slot) {
  const nest::Nest &nest = member_nest(group, member);
  const auto is_slot = [&](const nest::Operand &operand) {
    return group_slot(group, member, operand.slot) == slot;
  };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), is_slot) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), is_slot);
}

SlotId written_slot(const Group &group, MemberId member) {
  return group_slot(group, member, member_nest(group, member).out.slot);
}

std::optional<std::string> broken_form(const Group &group, MemberId member) {
  const Producer &p = producer_at(group, member);
  const auto wrong = [&](const std::string &what) {
    return fmt::format("member {}: {}", member, what);
  };
  if (p.consumer < kAnchor || p.consumer >= member)
    return wrong("its consumer does not stand before it");
  if (p.input < 0 || at(p.input) >= member_nest(group, p.consumer).inputs.size())
    return wrong(fmt::format("member {} has no input {}", p.consumer, p.input));
  if (nest::positions(member_nest(group, p.consumer)) > 0)
    return wrong(fmt::format("member {} reads where positions say, from memory", p.consumer));
  if (producer_of(group, p.consumer, p.input) != member)
    return wrong("another producer feeds the same input");
  if (p.feed == Feed::Map && !p.nest.inputs.empty())
    return wrong("it is no pointwise map");
  if (p.feed == Feed::Spread && (p.consumer != kAnchor || p.stored))
    return wrong("it spreads to what is not the anchor's, or to memory");
  return std::nullopt;
}

// A nest of the group beside its anchor, and which slots of the group its own are.
struct Naming {
  std::string who;
  const nest::Nest &nest;
  const Indexed<SlotId, SlotId> &slots;
};

std::vector<Naming> namings(const Group &group) {
  std::vector<Naming> all;
  for (const Producer &p : group.producers)
    all.push_back({fmt::format("member {}", all.size() + 1), p.nest, p.slots});
  for (const TileSum &sum : group.sums)
    all.push_back({"sum " + sum.nest.name, sum.nest, sum.slots});
  return all;
}

std::optional<std::string> broken_slots(const Group &group) {
  Indexed<SlotId, nest::Slot> slots = group.anchor.slots;
  for (const auto &[who, nest, named] : namings(group)) {
    if (named.size() != nest.slots.size())
      return fmt::format("{} names {} slots of the group, its nest has {}", who, named.size(),
                         nest.slots.size());
    for (const SlotId s : named.ids()) {
      if (named[s] < SlotId{0} || named[s] > slots.next_id())
        return fmt::format("{} names slot {} before slot {}", who, named[s], slots.size());
      if (named[s] == slots.next_id())
        slots.push_back(nest.slots[s]);
      if (slots[named[s]] != nest.slots[s])
        return fmt::format("{}: slot {} has another type or size", who, named[s]);
    }
  }
  return std::nullopt;
}

// A sum reads the anchor's result once and nothing else that the group writes or has in tiles, and
// writes what nothing else in the group names.
std::optional<std::string> broken_sum(const Group &group, std::size_t number) {
  const TileSum &sum = group.sums[number];
  const auto wrong = [&](const char *what) {
    return fmt::format("sum {}: {}", sum.nest.name, what);
  };
  if (sum.nest.agg != program::Agg::Sum || !sum.nest.extras.empty() ||
      !sum.nest.constraints.empty() || nest::positions(sum.nest) > 0)
    return wrong("it is no plain sum");
  const SlotId own = sum.slots[sum.nest.out.slot];
  for (std::size_t other = 0; other < group.sums.size(); ++other)
    for (const SlotId s : group.sums[other].slots)
      if (s == own && other != number)
        return wrong("another sum names its result");
  for (const MemberId m : members(group))
    if (reads_slot(group, m, own) || written_slot(group, m) == own)
      return wrong("a member names its result");
  int results = 0;
  for (const nest::Operand &input : sum.nest.inputs) {
    const SlotId slot = sum.slots[input.slot];
    results += slot == written_slot(group, kAnchor) ? 1 : 0;
    if (slot == own || is_internal(group, slot))
      return wrong("it reads what is not in memory before it");
  }
  return results == 1 ? std::nullopt
                      : std::optional(wrong("it does not read the anchor's result once"));
}

// The tensor between a producer and its consumer.
std::optional<std::string> broken_edge(const Group &group, MemberId member) {
  const Producer &p = producer_at(group, member);
  const nest::Operand &input = member_nest(group, p.consumer).inputs[at(p.input)];
  const SlotId slot = written_slot(group, member);
  if (slot != group_slot(group, p.consumer, input.slot))
    return fmt::format("member {} does not write the slot that input {} of member {} reads", member,
                       p.input, p.consumer);
  if (p.feed == Feed::Spread ? !match_runs(input, p.nest) : !match_dims(input, p.nest))
    return fmt::format("member {} does not write the tensor that its consumer reads point by "
                       "point and whole",
                       member);
  if (reads_slot(group, member, slot))
    return fmt::format("member {} writes what it reads, so it cannot run again", member);
  return std::nullopt;
}

// Nothing else in the group may write what a producer reads, or read what is only in tiles.
std::optional<std::string> broken_order(const Group &group) {
  const SlotId out = written_slot(group, kAnchor);
  for (const MemberId m : producing_members(group))
    if (reads_slot(group, m, out))
      return fmt::format("the anchor writes what member {} reads", m);
  for (const MemberId m : members(group)) {
    const nest::Nest &nest = member_nest(group, m);
    const auto is_inner = [&](const nest::Operand &operand) {
      return is_internal(group, group_slot(group, m, operand.slot));
    };
    if (std::any_of(nest.extras.begin(), nest.extras.end(), is_inner))
      return fmt::format("the post-ops of member {} read a tensor that exists in tiles only", m);
    for (std::size_t k = 0; k < nest.inputs.size(); ++k)
      if (is_inner(nest.inputs[k]) && !producer_of(group, m, static_cast<int>(k)))
        return fmt::format("input {} of member {} reads a tensor that exists in tiles only", k, m);
  }
  return std::nullopt;
}

} // namespace

Ids<MemberId> members(const Group &group) { return ids<MemberId>(group.producers.size() + 1); }

Ids<MemberId> producing_members(const Group &group) {
  return {1, static_cast<int>(group.producers.size()) + 1};
}

const Producer &producer_at(const Group &group, MemberId member) {
  return group.producers.at(at(member) - 1);
}

const nest::Nest &member_nest(const Group &group, MemberId member) {
  return member == kAnchor ? group.anchor : producer_at(group, member).nest;
}

SlotId group_slot(const Group &group, MemberId member, SlotId slot) {
  return member == kAnchor ? slot : producer_at(group, member).slots.at(at(slot));
}

Indexed<SlotId, nest::Slot> group_slots(const Group &group) {
  Indexed<SlotId, nest::Slot> slots = group.anchor.slots;
  for (const auto &[who, nest, named] : namings(group))
    for (const SlotId s : named.ids())
      if (named[s] == slots.next_id())
        slots.push_back(nest.slots[s]);
  return slots;
}

std::optional<MemberId> producer_of(const Group &group, MemberId member, int input) {
  for (const MemberId m : producing_members(group))
    if (const Producer &p = producer_at(group, m); p.consumer == member && p.input == input)
      return m;
  return std::nullopt;
}

bool is_internal(const Group &group, SlotId slot) {
  return std::any_of(group.producers.begin(), group.producers.end(),
                     [&](const Producer &p) { return p.slots[p.nest.out.slot] == slot; });
}

bool is_alone(const Group &group) { return group.producers.empty() && group.sums.empty(); }

int summed_input(const Group &group, const TileSum &sum) {
  for (std::size_t k = 0; k < sum.nest.inputs.size(); ++k)
    if (sum.slots[sum.nest.inputs[k].slot] == group.anchor.out.slot)
      return static_cast<int>(k);
  return -1;
}

std::vector<SlotId> written_slots(const Group &group) {
  std::vector<SlotId> slots = {group.anchor.out.slot};
  for (const Producer &p : group.producers)
    if (p.stored)
      slots.push_back(p.slots[p.nest.out.slot]);
  for (const TileSum &sum : group.sums)
    slots.push_back(sum.slots[sum.nest.out.slot]);
  return slots;
}

std::optional<std::vector<std::optional<IndexId>>> match_dims(const nest::Operand &input,
                                                              const nest::Nest &producer) {
  const nest::Operand &out = producer.out;
  if (input.offset != out.offset || input.constant)
    return std::nullopt;
  std::vector<std::optional<IndexId>> index_of(input.dims.size());
  std::set<IndexId> used;
  for (const nest::Dim &written : out.dims) {
    if (written.size == 1)
      continue;
    const auto found =
        std::find_if(input.dims.begin(), input.dims.end(), [&](const nest::Dim &read) {
          return read.size == written.size && read.stride == written.stride;
        });
    const std::optional<IndexId> index = whole_index(producer, written);
    if (found == input.dims.end() || !index || !used.insert(*index).second)
      return std::nullopt;
    index_of[at(found - input.dims.begin())] = index;
  }
  for (std::size_t d = 0; d < input.dims.size(); ++d)
    if (input.dims[d].size > 1 && !index_of[d])
      return std::nullopt;
  for (const IndexId i : output_indices(producer))
    if (extent(producer, i) > 1 && used.count(i) == 0)
      return std::nullopt;
  return index_of;
}

std::optional<std::vector<int>> match_runs(const nest::Operand &input, const nest::Nest &copy) {
  const nest::Operand &out = copy.out;
  if (!is_copy(copy) || input.offset != out.offset || input.constant)
    return std::nullopt;
  std::vector<int> dim_of(out.dims.size(), -1);
  std::set<IndexId> used;
  for (std::size_t d = 0; d < input.dims.size(); ++d) {
    // From the end of the dimension outwards, each of the copy's around those before it.
    std::int64_t stride = input.dims[d].stride;
    const std::int64_t end = stride * input.dims[d].size;
    while (stride < end) {
      const auto next = std::find_if(out.dims.begin(), out.dims.end(), [&](const nest::Dim &dim) {
        return dim.size > 1 && dim.stride == stride;
      });
      const std::optional<IndexId> index =
          next == out.dims.end() ? std::nullopt : whole_index(copy, *next);
      if (!index || !used.insert(*index).second)
        return std::nullopt;
      dim_of[at(next - out.dims.begin())] = static_cast<int>(d);
      stride *= next->size;
    }
    if (stride != end)
      return std::nullopt;
  }
  for (const IndexId i : output_indices(copy))
    if (extent(copy, i) > 1 && used.count(i) == 0)
      return std::nullopt;
  return dim_of;
}

std::optional<std::string> broken_rule(const Group &group) {
  if (const auto slots = broken_slots(group))
    return slots;
  if (has_rows(group))
    return broken_rows(group);
  for (const MemberId m : producing_members(group)) {
    if (producer_at(group, m).feed == Feed::Rows)
      return fmt::format("member {} is rows beside what is none", m);
    if (const auto form = broken_form(group, m))
      return form;
    if (const auto edge = broken_edge(group, m))
      return edge;
  }
  for (std::size_t k = 0; k < group.sums.size(); ++k)
    if (const auto sum = broken_sum(group, k))
      return sum;
  return broken_order(group);
}

void verify(const Group &group) {
  for (const MemberId m : members(group))
    nest::verify(member_nest(group, m));
  for (const TileSum &sum : group.sums)
    nest::verify(sum.nest);
  if (const auto rule = broken_rule(group))
    throw Error(ErrorCode::Shape, "group: " + *rule);
}

void evaluate(const Group &group, std::span<const std::span<std::byte>> slots) {
  const auto run = [&](const nest::Nest &nest, const auto &slot_of) {
    std::vector<std::span<std::byte>> bound;
    for (const SlotId s : nest.slots.ids())
      bound.push_back(slots[at(slot_of(s))]);
    nest::evaluate(nest, bound);
  };
  for (const MemberId m : members(group).reversed())
    run(member_nest(group, m), [&](SlotId s) { return group_slot(group, m, s); });
  for (const TileSum &sum : group.sums)
    run(sum.nest, [&](SlotId s) { return sum.slots[s]; });
}

} // namespace tilefuse::poly
