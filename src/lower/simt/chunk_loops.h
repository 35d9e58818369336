// SPDX-License-Identifier: Apache-2.0
// The chunk loops of reduced indices, with the fills and barriers of what is staged in them.
//
//   staged once                       staged twice
//     for chunk {                       fetch chunk 0; put it into buffer 0
//       fill                            for chunk {
//       barrier                           barrier
//       compute                           fetch the next chunk into registers
//       barrier                           compute on buffer chunk % 2
//     }                                   put the next chunk into the other buffer
//                                       }
//
//   staged in a ring of R
//     start the copies of chunks 0 … R - 2 into as many buffers
//     for chunk {
//       wait for this chunk's own copies
//       barrier
//       start the copies of chunk + R - 1 into the buffer that was read last
//       compute on buffer chunk % R
//     }
//
// Chunk loops have constant bounds and stand in no branch, so every work-item arrives at every
// barrier.
#pragma once

#include <functional>

#include "lower/context.h"

namespace tilefuse::lower {

// `compute` builds the loops over the points of one chunk; it sees cx.chunk and cx.turn.
StmtRef chunk_loops(Context &cx, const std::function<StmtRef()> &compute);

} // namespace tilefuse::lower
