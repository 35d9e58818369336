// SPDX-License-Identifier: Apache-2.0
// The `group` level: nests that will be one kernel: an anchor nest, with its pointwise consumers in
// its post-ops, and the producers of tensors that the kernel stages. A producer runs for each tile
// of the tensor that its consumer stages, so the tensor itself is not in memory.
//
//   group
//   anchor nest gemm { … }
//   produce input 0 of 0 slots 3 4 0
//   nest conv { … }
//   map input 0 of 1 slots 5 6 3
//   nest map { … }
//
// Members are numbered: 0 is the anchor, the producers follow, each behind its consumer. Slots of
// the group are those of the anchor, then others in the order in which producers first name them;
// `slots` lists the group's slot of each slot of the producer. A producer writes the slot that its
// consumer reads, whole, one element a point. Outside that tensor the consumer sees what a point
// that does not count contributes, whatever the producer would compute there (L10).
//
// With `stored` the tensor is also written to memory, each element once (L7).
//
// A producer that spreads (`spread input 0 of 0 …`) is a copy whose dimensions its consumer reads
// several of as one, in runs that overlap (program/rewrite/first_layer.h).
//
// A kernel may have further results: sums of what the anchor stores, added up while its tiles are in
// registers. Such a nest reads the anchor's result, as it is stored, and has output indices that
// count the tiles of the schedule (schedule/wgmma/tile_sums.h); a nest behind the group joins them.
//
//   sum slots 3 2 4
//   nest gemm_part { index t 3136, k 2, m 64 | p 128 … }
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "program/storage/storage.h"

namespace tilefuse::poly {

using nest::IndexId;
using nest::SlotId;

// A member of a group.
enum class MemberId : int {};
constexpr int format_as(MemberId id) { return to_int(id); }
inline constexpr MemberId kAnchor{0};
// The member that is a group's producer of this place in the list.
constexpr MemberId member_of_producer(std::size_t place) {
  return static_cast<MemberId>(place + 1);
}

// How a producer fills its consumer's staging buffer: a pointwise map, evaluated once per element,
// a nest that runs for the tile as a kernel of its own would, or a copy that reads each element
// once and writes it to every place of the buffer that holds it. Rows are in no buffer: what stands
// between two products (row_group.h).
enum class Feed { Map, Produce, Spread, Rows };

struct Producer {
  nest::Nest nest;
  Feed feed = Feed::Map;
  MemberId consumer = kAnchor;   // that reads the result
  int input = 0;                 // which of its inputs
  bool stored = false;           // the result is needed in memory too
  Indexed<SlotId, SlotId> slots; // the group's slot of each of the nest's
  friend bool operator==(const Producer &, const Producer &) = default;
};

// A reduction of what the anchor stores.
struct TileSum {
  nest::Nest nest;
  Indexed<SlotId, SlotId> slots; // the group's slot of each of the nest's
  friend bool operator==(const TileSum &, const TileSum &) = default;
};

struct Group {
  nest::Nest anchor;
  std::vector<Producer> producers = {}; // behind their consumers
  std::vector<TileSum> sums = {};       // further results
  friend bool operator==(const Group &, const Group &) = default;
};

// A group in its place in a network: which buffer each slot of the group is bound to.
struct PlacedGroup {
  Group group;
  Indexed<SlotId, program::BufferId> buffers;
  std::string origin;             // statements it came from, "Conv conv1 + Relu relu1"
  std::vector<std::string> notes; // decisions about it, one or more lines each
  bool joins_tiles = false; // of parts that the group before it stores, in its launch if it can
  int statement = -1;       // of the program, that the anchor was flattened from; -1: of none
};

// All members, and those that are producers.
Ids<MemberId> members(const Group &group);
Ids<MemberId> producing_members(const Group &group);
// The producer that a member other than the anchor is.
const Producer &producer_at(const Group &group, MemberId member);
// The nest of a member, and the group's slot of one of its slots.
const nest::Nest &member_nest(const Group &group, MemberId member);
SlotId group_slot(const Group &group, MemberId member, SlotId slot);
// All slots of the group.
Indexed<SlotId, nest::Slot> group_slots(const Group &group);
// The member that feeds an input of another, if one does.
std::optional<MemberId> producer_of(const Group &group, MemberId member, int input);
// Whether the group's slot holds a tensor that its members read in tiles only.
bool is_internal(const Group &group, SlotId slot);
// Whether the group is one nest with one result.
bool is_alone(const Group &group);
// The input of a sum that is the anchor's result; -1: none.
int summed_input(const Group &group, const TileSum &sum);
// The group's slots that its kernel writes: the anchor's, then those of stored producers, of sums.
std::vector<SlotId> written_slots(const Group &group);

// For each dimension of the consumer's input, the index of the producer that runs over it, none
// where it has one element; nothing when the producer does not write that tensor whole, in those
// dimensions.
std::optional<std::vector<std::optional<IndexId>>> match_dims(const nest::Operand &input,
                                                              const nest::Nest &producer);

// For each dimension that a copy writes, the dimension of the consumer's input that holds it, where
// those of the input are one or several of the copy's side by side; nothing when it is no such copy
// or does not write that tensor whole.
std::optional<std::vector<int>> match_runs(const nest::Operand &input, const nest::Nest &copy);

// Why producers of this group cannot run per tile, or nothing: L5 and L8 (what clones read is
// written by the group), results that are not the tensor read, constraints on the value's form.
std::optional<std::string> broken_rule(const Group &group);

// `producer` as the producer of what an input of a member of `group` reads; a producer that has
// producers brings them along. Indices that were merged in one of the nests are split again where
// the other walks them apart. Nothing, and why, when the result breaks a rule.
std::optional<PlacedGroup> attach(const PlacedGroup &group, MemberId member, int input,
                                  const PlacedGroup &producer, std::string *why = nullptr);

// Runs the members one after the other, producers first, in double precision (oracle 1): `slots`
// by slot of the group, those that exist only in tiles included.
void evaluate(const Group &group, std::span<const std::span<std::byte>> slots);

void verify(const Group &group);
std::string to_text(const Group &group);
Group parse_group(std::string_view text, const std::string &file = "<group>");

} // namespace tilefuse::poly
