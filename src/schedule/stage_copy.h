// SPDX-License-Identifier: Apache-2.0
// How work-items can copy a staging tile from memory: the elements of one access, which what is
// read, its alignment and its edges allow, and the rounds that a tile then takes. What a schedule
// chooses of this is Pipe::width and Pipe::rounds; search sets them (search/forms/copies.h).
//
//   slot 0 f32, in 0 + 0 [c:64*784, y + r:28*28, x + s:28*1], a tile of 8 x 10 x 32   4 elements
//   slot 0 f16, the same                                                              1 element
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "schedule/staging.h"
#include "target/dtype.h"

namespace tilefuse::schedule {

// A tensor that the elements of a tile are made from: the input itself, or what a pointwise
// producer reads.
struct CopyStream {
  DType type = DType::F32;
  std::int64_t offset = 0;           // constant part of the address of a tile's first element
  std::vector<std::int64_t> strides; // elements, by dimension of the tile
};

// A pointwise producer's operand, or its result, as a stream of the tile of the input that it
// feeds. `indices`: the producer's index by dimension of the tensor.
CopyStream map_stream(const nest::Nest &map, const nest::Operand &operand, const StageTile &tile,
                      const std::vector<std::optional<nest::IndexId>> &indices);

// How a staged input can be copied.
struct ItemCopy {
  int widest = 1;                 // elements of one access at most: 4, 2 or 1
  std::int64_t elems = 1;         // of the tile, without gaps
  std::int64_t round_offsets = 2; // what a round's addresses take that no position changes
  // Of a block, at so many elements an access.
  std::int64_t rounds(int width, std::int64_t items) const {
    return (elems / width + items - 1) / items;
  }
};

// The same of an input that lies in memory. A vector does not straddle the tensor's edge and is
// aligned in memory; elements of other sizes than 4 bytes are copied one by one.
ItemCopy item_copy(const nest::Nest &nest, const Schedule &schedule, int input);
ItemCopy item_copy(const nest::Nest &nest, const Schedule &schedule, int input,
                   const InputPlace &place);
// Of a member's input, which a map may feed; `nests` as they run (schedule/members.h).
ItemCopy item_copy(const poly::Group &group, const std::vector<nest::Nest> &nests,
                   const Schedule &schedule, poly::MemberId member, int input);

// Whether rounds are written out: also where registers hold what is fetched ahead, by round.
inline bool writes_rounds(const Pipe &stage) {
  return stage.rounds != Rounds::Loop || stage.is_double_buffered();
}

// Rounds that may be written out: code outgrows instruction caches.
constexpr std::int64_t kMostWrittenRounds = 64;

// Why the staged inputs of a nest alone, or of a group's member, cannot be copied as the schedule
// says, or nothing when they can.
std::optional<std::string> wrong_copies(const nest::Nest &nest, const Schedule &schedule);
std::optional<std::string> wrong_copies(const poly::Group &group,
                                        const std::vector<nest::Nest> &nests,
                                        const Schedule &schedule, poly::MemberId member);

} // namespace tilefuse::schedule
