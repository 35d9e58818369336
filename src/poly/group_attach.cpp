// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/index.h"
#include "nest/flatten/split_index.h"
#include "nest/index.h"
#include "poly/group.h"
#include "poly/row_group.h"
#include "program/origin.h"

namespace tilefuse::poly {
namespace {

using nest::Dim;
using nest::Nest;
using nest::Operand;
using program::BufferId;

// The index that is alone in an unguarded dimension, over all of it.
std::optional<IndexId> alone(const Nest &nest, const Dim &dim) {
  const auto is_used = [](std::int64_t coeff) { return coeff != 0; };
  const auto used = std::find_if(dim.at.coeff.begin(), dim.at.coeff.end(), is_used);
  if (dim.guarded || dim.at.constant != 0 ||
      std::count_if(dim.at.coeff.begin(), dim.at.coeff.end(), is_used) != 1 || *used != 1)
    return std::nullopt;
  const auto index = static_cast<IndexId>(used - dim.at.coeff.begin());
  return extent(nest, index) == dim.size ? std::optional(index) : std::nullopt;
}

// Splits an index of `nest` that walks one dimension of `own` where `other` has two; false when
// there is none.
bool split_once(Nest &nest, const Operand &own, const Operand &other) {
  for (const Dim &dim : own.dims) {
    const std::optional<IndexId> index = alone(nest, dim);
    for (const Dim &cut : other.dims) {
      const bool inside = cut.stride > dim.stride && cut.stride < dim.size * dim.stride;
      if (!index || cut.size == 1 || !inside || cut.stride % dim.stride != 0 ||
          dim.size % (cut.stride / dim.stride) != 0)
        continue;
      nest = split_index(nest, *index, cut.stride / dim.stride);
      return true;
    }
  }
  return false;
}

class Attaching {
public:
  Attaching(const PlacedGroup &group, const PlacedGroup &producer)
      : result_(group), from_(producer) {}

  PlacedGroup run(MemberId member, int input) {
    align(consumer(member), input);
    const std::size_t before = result_.group.producers.size();
    add(from_.group.anchor, kAnchor, member, input);
    for (const MemberId m : producing_members(from_.group)) {
      const Producer &p = producer_at(from_.group, m);
      add(p.nest, m, member_of_producer(before + at(p.consumer)), p.input);
      result_.group.producers.back().feed = p.feed;
      result_.group.producers.back().stored = p.stored;
    }
    result_.origin = program::join_origins(from_.origin, result_.origin);
    return std::move(result_);
  }

private:
  Nest &consumer(MemberId member) {
    return member == kAnchor ? result_.group.anchor : result_.group.producers[at(member) - 1].nest;
  }

  void align(Nest &reader, int input) {
    Nest &writer = from_.group.anchor;
    while (split_once(reader, Operand(reader.inputs[at(input)]), writer.out) ||
           split_once(writer, Operand(writer.out), reader.inputs[at(input)])) {
    }
  }

  SlotId slot_of(BufferId buffer) {
    const auto found = std::find(result_.buffers.begin(), result_.buffers.end(), buffer);
    const auto slot = static_cast<SlotId>(found - result_.buffers.begin());
    if (found == result_.buffers.end())
      result_.buffers.push_back(buffer);
    return slot;
  }

  Feed feed_of(const Nest &nest, MemberId member, int input) {
    const Operand &read = consumer(member).inputs[at(input)];
    return nest.inputs.empty()                                 ? Feed::Map
           : !match_dims(read, nest) && match_runs(read, nest) ? Feed::Spread
                                                               : Feed::Produce;
  }

  void add(const Nest &nest, MemberId number, MemberId member, int input) {
    Producer added{.nest = nest, .consumer = member, .input = input};
    added.feed = feed_of(nest, member, input);
    for (const SlotId s : nest.slots.ids())
      added.slots.push_back(slot_of(from_.buffers[group_slot(from_.group, number, s)]));
    result_.group.producers.push_back(std::move(added));
  }

  PlacedGroup result_;
  PlacedGroup from_;
};

} // namespace

std::optional<PlacedGroup> attach(const PlacedGroup &group, MemberId member, int input,
                                  const PlacedGroup &producer, std::string *why) {
  if (has_rows(group.group) || has_rows(producer.group)) {
    if (why != nullptr)
      *why = "rows between products join no others";
    return std::nullopt;
  }
  PlacedGroup attached = Attaching(group, producer).run(member, input);
  const std::optional<std::string> rule = broken_rule(attached.group);
  if (!rule)
    return attached;
  if (why != nullptr)
    *why = *rule;
  return std::nullopt;
}

} // namespace tilefuse::poly
