// SPDX-License-Identifier: Apache-2.0
// How work-items copy a staging tile from memory: the elements of one access, which what is read,
// its alignment and its edges allow. Cost and lowering read it here, so that the cost model charges
// the copies that are made.
//
//   slot 0 f32, in 0 + 0 [c:64*784, y + r:28*28, x + s:28*1], a tile of 8 x 10 x 32   4 elements
//   slot 0 f16, the same                                                              1 element
#pragma once

#include <cstdint>
#include <vector>

#include "nest/nest.h"
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

// The input of a nest, as it lies in memory or packed, as the stream of its own tile.
CopyStream copy_stream(const nest::Nest &nest, const Schedule &schedule, const Source &source,
                       const StageTile &tile, int input);

// A number that divides the first subscript of every tile, by dimension of the tile; 0 where that
// is always 0. `whole`: the nest with its own extents, where `nest` is a tile of it.
std::vector<std::int64_t> origin_divisors(const nest::Nest &nest, const nest::Nest &whole,
                                          const Schedule &schedule, int input);

// What the width of an access depends on besides the schedule.
struct CopyShape {
  const nest::Nest &nest;
  const Source &source;
  const StageTile &tile;
  const std::vector<std::int64_t> &divisors; // origin_divisors
  std::int64_t owned =
      0; // elements of a row that the fill also writes to memory; 0: it writes none
};

// Elements of one access to all streams: 4, 2 or 1. A vector does not straddle the tensor's edge
// and is aligned in memory; elements of other sizes than 4 bytes are copied one by one.
int copy_width(const CopyShape &shape, const Schedule &schedule, int input,
               const std::vector<CopyStream> &streams);

// The same of an input that lies in memory.
int copy_width(const nest::Nest &nest, const Source &source, const StageTile &tile,
               const Schedule &schedule, int input);

} // namespace tilefuse::schedule
