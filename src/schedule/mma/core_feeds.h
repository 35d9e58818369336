// SPDX-License-Identifier: Apache-2.0
// Maps that are evaluated in the ring of a core instruction. A tensor that a pointwise map feeds to
// the anchor (poly/group.h) is not in memory: the ring's copies bring what the map reads in its
// place, tiles laid out as the tensor's own would be, and they are mapped there, each element of a
// tile once, before anything multiplies. Copies fill padding with 0, and there nothing is mapped
// (L10).
//
// Of what a map reads, that which varies between rows of a tile is copied: the first of the
// tensor's own type to the tile's place, others beside it. The rest (scales of channels) is read
// from memory by who evaluates. On mma that is the work-item that copied a run, as it arrived; on
// wgmma warpgroups of their own, between the one that copies and those that multiply:
//
//   role   transform groups 1 registers 112
//
// Without groups, of windows beside a filter that is kept, the producer's own warps map: a block
// has 4 warps less, and those that multiply have registers for larger instructions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "poly/group.h"
#include "schedule/mma/core.h"

namespace tilefuse::schedule {

constexpr std::int64_t kChunkBytes = 16; // that a work-item maps at a time

struct CoreFeed {
  poly::MemberId producer{};
  int input = 0;           // of the anchor
  std::vector<int> copied; // extras of the map; the first is mapped in place
  std::size_t place(int extra) const {
    return static_cast<std::size_t>(std::find(copied.begin(), copied.end(), extra) -
                                    copied.begin());
  }
  std::vector<int> read; // extras that all rows of a tile share
};
// Of a group of which the anchor's producers are maps, and a schedule with a core instruction.
std::vector<CoreFeed> core_feeds(const poly::Group &group, const Gemm &gemm);

// The anchor with an extra of a map in the place of what the map feeds.
nest::Nest reading(const poly::Group &group, poly::MemberId producer, int extra);

// Why a core instruction cannot run with the group's producers; nothing when it can, or when there
// are none.
std::optional<std::string> wrong_core_feeds(const poly::Group &group, const Gemm &gemm);

} // namespace tilefuse::schedule
