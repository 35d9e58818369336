// SPDX-License-Identifier: Apache-2.0
// Filling a staging buffer by the nest that computes the tensor.
//
//   let w = the first subscript of a window of the tensor that holds what the tile has of it
//   for the blocks of the producer's schedule {
//     fill what the producer stages; the producer's loops, results into the buffer
//   }
//   store the neutral value where the tile leaves the tensor
//
// The window has the same size for every tile and lies inside the tensor, so the producer's loops
// need no tests; where it reaches past the tile the buffer has room (schedule::StageDim).
//
// Where tiles roll (schedule/rolling.h) the window is the tile itself along the rolled dimension:
//
//   let w = the first subscript of the tile
//   if this is not the first tile of its block: move the rows that stay
//   for the blocks …, of the rows that do not stay those inside the tensor
//   store the neutral value where the tile leaves the tensor
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// At the current position of block, step and chunk of the consumer.
StmtRef fill_by_producer(const Context &consumer, int input);

} // namespace tilefuse::lower
