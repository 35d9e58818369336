// SPDX-License-Identifier: Apache-2.0
// Time of joining a tile's parts in the launch that computes them (schedule/tile_join.h). The last
// block of a tile takes a ticket and reads all parts alone, while the other units idle:
//
//   seconds = 2.2 us + max(loads * 0.4 us, bytes / 80 GB/s)
//
//   loads   rounds of loads of one work-item; those of a round are in flight together
//   bytes   of the parts that are read and the result that is written, 4 per element
//
// The constants were fitted on an H200 (docs/cost_model.md).
#pragma once

#include "schedule/tile_join.h"
#include "target/rates.h"

namespace tilefuse::cost {

// Seconds that the join adds to the launch. Requires a join; `items` is the number of work-items of
// a block of the partial kernel.
double tile_join_seconds(const schedule::TileJoin &join, std::int64_t items, const Rates &rates);

} // namespace tilefuse::cost
