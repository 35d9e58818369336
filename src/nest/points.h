// SPDX-License-Identifier: Apache-2.0
// Several indices of a nest taken as one number, the first the slowest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nest/index.h"

namespace tilefuse::nest {

// Points of the indices together.
template <typename Indices> std::int64_t points_of(const Nest &nest, const Indices &indices) {
  std::int64_t points = 1;
  for (const IndexId index : indices)
    points *= extent(nest, index);
  return points;
}

// Whether an address moves with that number alone.
inline bool lie_as_one(const Nest &nest, const Linear &address,
                       const std::vector<IndexId> &indices) {
  for (std::size_t k = 0; k + 1 < indices.size(); ++k)
    if (address.coeff[indices[k]] != extent(nest, indices[k + 1]) * address.coeff[indices[k + 1]])
      return false;
  return true;
}

} // namespace tilefuse::nest
