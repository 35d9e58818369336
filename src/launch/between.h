// SPDX-License-Identifier: Apache-2.0
// Constants that lie between a kernel's results, such as the zeros between the pixels of a strided
// input gradient: whoever stores a result stores the constants beside it, so that memory is written
// as evenly as results are computed, and neighbours together.
//
//   out 2 + 0 [n:8*50176, 2*y:28*1792, 2*x:28*64, c:64*1]          results, y 14, x 14
//   out 0 + 0 [n:8*50176, 2*y:28*1792, 2*x + 1:28*64, c:64*1]      constants: 64 elements apart
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::launch {

// A dimension along which there are fewer constants than results.
struct BetweenEdge {
  std::int64_t stride = 1; // of the dimension
  std::int64_t outer = 0;  // of the next slower one; 0: there is none
  std::int64_t end = 0;    // first subscript of a result without a constant
};

struct Between {
  std::int64_t apart = 0;  // elements from a result to its constant
  std::int64_t offset = 0; // of the tensor in its buffer
  double value = 0;
  std::vector<BetweenEdge> edges;
};

// Where every point that `constants` writes, which reads nothing, lies as far from a point that
// `results` writes to the same tensor. Nothing where they do not.
std::optional<Between> between(const nest::Nest &results, const nest::Nest &constants);

} // namespace tilefuse::launch
