// SPDX-License-Identifier: Apache-2.0
// When a producer is worth running in the tiles of its consumer, by a formula: what stays out of
// memory and the launch that disappears, against what overlapping tiles run again and what staging
// moves. It stands in where no schedule prices the fused group, and names tiles to begin from.
//
//   saved   2 * V * e / memory + launch      V elements of e bytes are written and read no more
//   spent   (R - 1) * (operations / peak + bytes in / cache) + 2 * V * S * e / near
//
// memory, cache and near are bytes per second: of memory, of the cache that all units share (4
// times memory's) and of the one beside a unit (4 times that).
//
// Tiles stage S * V elements and run R * V of them, which is as many unless they roll: a block of
// one work-item can take tiles along one index one behind the other and keep the rows that they
// share (schedule/rolling.h), so that only those at which blocks begin are run again.
#pragma once

#include <cstdint>
#include <vector>

#include "poly/fuse.h"
#include "poly/group.h"
#include "target/target.h"

namespace tilefuse::cost {

struct Profit {
  Indexed<nest::IndexId, std::int64_t> tile; // of the anchor's outputs; empty: none fits memory
  std::optional<nest::IndexId> rolls;        // the index along which they roll, if any
  double recomputed = 1;                     // R of the producers, weighed by operations
  double saved_seconds = 0;
  double spent_seconds = 0;
  std::int64_t local_bytes = 0; // of all boxes of a tile
};

// Of the best of a few tiles.
Profit profit(const poly::Group &fused, const poly::Group &producer, const Target &target);

poly::Verdict to_verdict(const Profit &profit, const poly::Group &fused);

} // namespace tilefuse::cost
