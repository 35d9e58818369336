// SPDX-License-Identifier: Apache-2.0
// One index of a nest as two.
#pragma once

#include "nest/nest.h"

namespace tilefuse::nest {

// An output or reduced index becomes an outer and an inner one of `inner` points.
// Dimensions that it walks alone are taken apart too.
Nest split_index(const Nest &nest, IndexId index, std::int64_t inner);

} // namespace tilefuse::nest
