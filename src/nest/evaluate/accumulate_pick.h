// SPDX-License-Identifier: Apache-2.0
// The reduction of a nest that reads its first input where other inputs say (Comb::Pick), in double
// precision, point by point.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// As accumulate() (accumulate.h), of a nest that picks. A position outside its dimension adds
// nothing.
std::vector<double> accumulate_picks(const Nest &nest, std::span<const std::span<std::byte>> slots);

} // namespace tilefuse::nest
