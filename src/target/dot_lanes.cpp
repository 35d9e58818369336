// SPDX-License-Identifier: Apache-2.0
#include "target/dot_lanes.h"

#include <algorithm>

namespace tilefuse {

int most_lanes(const Target &target, const DotOp &op) {
  constexpr int kLongestOfOpencl = 16; // elements
  return target.backend == "opencl" ? std::min(target.vector_f32, kLongestOfOpencl / op.products)
                                    : target.vector_f32;
}

} // namespace tilefuse
