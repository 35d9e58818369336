// SPDX-License-Identifier: Apache-2.0
// What the join of a tile adds to the launch that computes its parts (schedule/tile_join.h): the
// last block of a tile counts itself in and reads all parts alone, while the other units idle.
#pragma once

#include "schedule/tile_join.h"
#include "target/rates.h"

namespace tilefuse::cost {

// Requires a join. `items` are the work-items of a block of the partial kernel.
double tile_join_seconds(const schedule::TileJoin &join, std::int64_t items, const Rates &rates);

} // namespace tilefuse::cost
