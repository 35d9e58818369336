// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "nest/flatten/passes.h"
#include "poly/group.h"

namespace tilefuse::poly {
namespace {

const Producer &producer(const Group &group, int member) {
  return group.producers.at(at(member - 1));
}

int members(const Group &group) { return static_cast<int>(group.producers.size()) + 1; }

// The index that runs over exactly this dimension; -1 when it has one element, -2 for none.
int whole_index(const nest::Nest &nest, const nest::Dim &dim) {
  if (dim.size == 1)
    return -1;
  int found = -2;
  for (std::size_t i = 0; i < dim.at.coeff.size(); ++i) {
    if (dim.at.coeff[i] == 0)
      continue;
    if (found != -2 || dim.at.coeff[i] != 1 || nest.indices[i].extent != dim.size)
      return -2;
    found = static_cast<int>(i);
  }
  return dim.at.constant == 0 ? found : -2;
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

bool reads_slot(const Group &group, int member, int slot) {
  const nest::Nest &nest = member_nest(group, member);
  const auto is_slot = [&](const nest::Operand &operand) {
    return group_slot(group, member, operand.slot) == slot;
  };
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), is_slot) ||
         std::any_of(nest.extras.begin(), nest.extras.end(), is_slot);
}

int written_slot(const Group &group, int member) {
  return group_slot(group, member, member_nest(group, member).out.slot);
}

std::optional<std::string> broken_form(const Group &group, int member) {
  const Producer &p = producer(group, member);
  const auto wrong = [&](const std::string &what) {
    return fmt::format("member {}: {}", member, what);
  };
  if (p.consumer < 0 || p.consumer >= member)
    return wrong("its consumer does not stand before it");
  if (p.input < 0 || at(p.input) >= member_nest(group, p.consumer).inputs.size())
    return wrong(fmt::format("member {} has no input {}", p.consumer, p.input));
  if (producer_of(group, p.consumer, p.input) != member - 1)
    return wrong("another producer feeds the same input");
  if (p.feed == Feed::Map && !p.nest.inputs.empty())
    return wrong("it is no pointwise map");
  if (p.feed == Feed::Spread && (p.consumer != 0 || p.stored))
    return wrong("it spreads to what is not the anchor's, or to memory");
  return std::nullopt;
}

std::optional<std::string> broken_slots(const Group &group) {
  std::vector<nest::Slot> slots = group.anchor.slots;
  for (std::size_t k = 0; k < group.producers.size(); ++k) {
    const Producer &p = group.producers[k];
    if (p.slots.size() != p.nest.slots.size())
      return fmt::format("member {} names {} slots of the group, its nest has {}", k + 1,
                         p.slots.size(), p.nest.slots.size());
    for (std::size_t s = 0; s < p.slots.size(); ++s) {
      if (p.slots[s] < 0 || at(p.slots[s]) > slots.size())
        return fmt::format("member {} names slot {} before slot {}", k + 1, p.slots[s],
                           slots.size());
      if (at(p.slots[s]) == slots.size())
        slots.push_back(p.nest.slots[s]);
      if (slots[at(p.slots[s])] != p.nest.slots[s])
        return fmt::format("member {}: slot {} has another type or size", k + 1, p.slots[s]);
    }
  }
  return std::nullopt;
}

// The tensor between a producer and its consumer.
std::optional<std::string> broken_edge(const Group &group, int member) {
  const Producer &p = producer(group, member);
  const nest::Operand &input = member_nest(group, p.consumer).inputs[at(p.input)];
  const int slot = written_slot(group, member);
  if (slot != group_slot(group, p.consumer, input.slot))
    return fmt::format("member {} does not write the slot that input {} of member {} reads", member,
                       p.input, p.consumer);
  if (p.feed == Feed::Spread ? !match_runs(input, p.nest) : !match_dims(input, p.nest))
    return fmt::format("member {} does not write the tensor that its consumer reads point by "
                       "point and whole",
                       member);
  if (reads_slot(group, member, slot))
    return fmt::format("member {} writes what it reads, so it cannot run again (L5)", member);
  return std::nullopt;
}

// Nothing else in the group may write what a producer reads, or read what is only in tiles.
std::optional<std::string> broken_order(const Group &group) {
  const int out = written_slot(group, 0);
  for (int m = 1; m < members(group); ++m)
    if (reads_slot(group, m, out))
      return fmt::format("the anchor writes what member {} reads (L8)", m);
  for (int m = 0; m < members(group); ++m) {
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

const nest::Nest &member_nest(const Group &group, int member) {
  return member == 0 ? group.anchor : producer(group, member).nest;
}

int group_slot(const Group &group, int member, int slot) {
  return member == 0 ? slot : producer(group, member).slots.at(at(slot));
}

std::vector<nest::Slot> group_slots(const Group &group) {
  std::vector<nest::Slot> slots = group.anchor.slots;
  for (const Producer &p : group.producers)
    for (std::size_t s = 0; s < p.slots.size(); ++s)
      if (at(p.slots[s]) == slots.size())
        slots.push_back(p.nest.slots[s]);
  return slots;
}

std::optional<int> producer_of(const Group &group, int member, int input) {
  for (std::size_t k = 0; k < group.producers.size(); ++k)
    if (group.producers[k].consumer == member && group.producers[k].input == input)
      return static_cast<int>(k);
  return std::nullopt;
}

bool is_internal(const Group &group, int slot) {
  return std::any_of(group.producers.begin(), group.producers.end(),
                     [&](const Producer &p) { return p.slots[at(p.nest.out.slot)] == slot; });
}

std::vector<int> written_slots(const Group &group) {
  std::vector<int> slots = {group.anchor.out.slot};
  for (const Producer &p : group.producers)
    if (p.stored)
      slots.push_back(p.slots[at(p.nest.out.slot)]);
  return slots;
}

std::optional<std::vector<int>> match_dims(const nest::Operand &input, const nest::Nest &producer) {
  const nest::Operand &out = producer.out;
  if (input.offset != out.offset || input.constant)
    return std::nullopt;
  std::vector<int> index_of(input.dims.size(), -1);
  std::set<int> used;
  for (const nest::Dim &written : out.dims) {
    if (written.size == 1)
      continue;
    const auto found =
        std::find_if(input.dims.begin(), input.dims.end(), [&](const nest::Dim &read) {
          return read.size == written.size && read.stride == written.stride;
        });
    const int index = whole_index(producer, written);
    if (found == input.dims.end() || index < 0 || !used.insert(index).second)
      return std::nullopt;
    index_of[at(found - input.dims.begin())] = index;
  }
  for (std::size_t d = 0; d < input.dims.size(); ++d)
    if (input.dims[d].size > 1 && index_of[d] < 0)
      return std::nullopt;
  for (int i = 0; i < producer.output_indices; ++i)
    if (producer.indices[at(i)].extent > 1 && used.count(i) == 0)
      return std::nullopt;
  return index_of;
}

std::optional<std::vector<int>> match_runs(const nest::Operand &input, const nest::Nest &copy) {
  const nest::Operand &out = copy.out;
  if (!is_copy(copy) || input.offset != out.offset || input.constant)
    return std::nullopt;
  std::vector<int> dim_of(out.dims.size(), -1);
  std::set<int> used;
  for (std::size_t d = 0; d < input.dims.size(); ++d) {
    // From the end of the dimension outwards, each of the copy's around those before it.
    std::int64_t stride = input.dims[d].stride;
    const std::int64_t end = stride * input.dims[d].size;
    while (stride < end) {
      const auto next = std::find_if(out.dims.begin(), out.dims.end(), [&](const nest::Dim &dim) {
        return dim.size > 1 && dim.stride == stride;
      });
      const int index = next == out.dims.end() ? -1 : whole_index(copy, *next);
      if (index < 0 || !used.insert(index).second)
        return std::nullopt;
      dim_of[at(next - out.dims.begin())] = static_cast<int>(d);
      stride *= next->size;
    }
    if (stride != end)
      return std::nullopt;
  }
  for (int i = 0; i < copy.output_indices; ++i)
    if (copy.indices[at(i)].extent > 1 && used.count(i) == 0)
      return std::nullopt;
  return dim_of;
}

std::optional<std::string> broken_rule(const Group &group) {
  if (const auto slots = broken_slots(group))
    return slots;
  for (int m = 1; m < members(group); ++m) {
    if (const auto form = broken_form(group, m))
      return form;
    if (const auto edge = broken_edge(group, m))
      return edge;
  }
  return broken_order(group);
}

void verify(const Group &group) {
  for (int m = 0; m < members(group); ++m)
    nest::verify(member_nest(group, m));
  if (const auto rule = broken_rule(group))
    throw Error(ErrorCode::Shape, "group: " + *rule);
}

void evaluate(const Group &group, std::span<const std::span<std::byte>> slots) {
  for (int m = members(group); m-- > 0;) {
    const nest::Nest &nest = member_nest(group, m);
    std::vector<std::span<std::byte>> bound;
    for (std::size_t s = 0; s < nest.slots.size(); ++s)
      bound.push_back(slots[at(group_slot(group, m, static_cast<int>(s)))]);
    nest::evaluate(nest, bound);
  }
}

} // namespace tilefuse::poly
