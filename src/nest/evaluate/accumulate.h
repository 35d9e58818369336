// SPDX-License-Identifier: Apache-2.0
// The reduction of a nest, in double precision.
#pragma once

#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// The accumulators of all output points, row-major over the output indices, for a nest with inputs.
std::vector<double> accumulate(const Nest &nest, std::span<const std::span<std::byte>> slots);

} // namespace tilefuse::nest
