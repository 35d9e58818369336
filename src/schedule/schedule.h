// SPDX-License-Identifier: Apache-2.0
// The `schedule` level: where and when each point of a group's anchor nest runs, as a value.
//
//   schedule cpu_nest vector
//     tile   n:1 y:4 x:56 m:64
//     lane   m:8
//     keep   x:6 m:2
//     loop   m y x c r s
//     stage  0
//     pack   1
//
// An output index of extent E is split, outermost first, into
//   grid   ceil(E / tile) blocks,
//   loop   ceil(tile / (keep * lane)) serial steps inside a block,
//   keep   register copies, and
//   lane   neighbours: elements of a vector, or work-items of a group (one index at most).
// A reduced index has tile = extent, is looped in the order given and unrolled `keep` times. A tile is a multiple of
// keep * lane, so the only partial step of an index is its last one; its size is known when the kernel is built.
//
// A tile of an input reaches the arithmetic directly from memory, through a `local` staging buffer filled by a copy (which
// also pads virtual padded tensors), or from a constant that was `pack`ed at load time into the order the loops read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "target/target.h"

namespace tilefuse::schedule {

struct Split {
  std::int64_t tile = 1;  // points per block
  std::int64_t keep = 1;
  std::int64_t lane = 1;
  // Points of one step: keep * lane.
  std::int64_t step() const { return keep * lane; }
  friend bool operator==(const Split&, const Split&) = default;
};

enum class Fill { Direct, Local, Packed };

struct Schedule {
  std::string name;
  LaneKind lanes = LaneKind::Vector;
  std::vector<Split> splits;  // by index of the anchor
  std::vector<int> order;     // loops, outermost first: output indices, then reduced ones
  std::vector<Fill> fills;    // by input of the anchor

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// The index that has lanes, or -1.
int lane_index(const Schedule& schedule);
// Blocks of the whole grid.
std::int64_t blocks(const nest::Nest& nest, const Schedule& schedule);

// Why `schedule` cannot run `nest` on `target`, or nothing when it can.
std::optional<std::string> illegal(const nest::Nest& nest, const Schedule& schedule,
                                   const Target& target);

// One point at a time, no lanes, everything direct: legal for every nest, slow, the last resort.
Schedule scalar_schedule(const nest::Nest& nest);

std::string to_text(const nest::Nest& nest, const Schedule& schedule);
Schedule parse_schedule(const nest::Nest& nest, std::string_view text,
                        const std::string& file = "<schedule>");

}  // namespace tilefuse::schedule
