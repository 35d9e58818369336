// SPDX-License-Identifier: Apache-2.0
// What a tile needs of one dimension of a tensor, in closed form: the integers that an affine form
// takes while its variables run over a tile are an arithmetic progression, or lie in one with gaps.
// Forms compose, so a chain of producers is walked dimension by dimension.
//
//   3x3 convolution of stride 2, padding 1, output rows 8..15: 2*o + k - 1 = 15..31
//   its gradient by the input, rows 8..15: (o + 1 - k) / 2 = 4..8, exactly divisible ones
//   nearest upsampling by two: floor(o / 2) = (o - k) / 2 with k in 0..1
//
// isl is the oracle of all this in tests, and counts what has gaps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::poly {

// first, first + step, …, last; empty when last < first. With gaps: what is meant lies in it.
struct Progression {
  std::int64_t first = 0;
  std::int64_t last = -1;
  std::int64_t step = 1;
  bool has_gaps = false;

  bool is_empty() const { return last < first; }
  // Numbers in it; of one with gaps an upper bound.
  std::int64_t count() const { return is_empty() ? 0 : (last - first) / step + 1; }
  // Neighbouring integers from first to last: what a buffer holds.
  std::int64_t span() const { return is_empty() ? 0 : last - first + 1; }
  friend bool operator==(const Progression &, const Progression &) = default;
};

// 0, 1, …, extent - 1.
Progression whole(std::int64_t extent);
// Points of tile number `tile` of a dimension of `extent` points.
Progression tile_of(std::int64_t extent, std::int64_t tile_size, std::int64_t tile);

// The integers x with divisor * x = form for some values of its variables; `divisor` is positive.
Progression image(const nest::Linear &form, std::int64_t divisor,
                  std::span<const Progression> variables);

// Those in [0, size).
Progression clipped(const Progression &all, std::int64_t size);

// The smallest progression around both: what several readers of a tensor need.
Progression hull(const Progression &a, const Progression &b);

} // namespace tilefuse::poly
