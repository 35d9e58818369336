// SPDX-License-Identifier: Apache-2.0
// Several indices of a nest as one.
#pragma once

#include <optional>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::nest {

// Fuses an index i into j where every operand that uses them steps through (j, i) contiguously:
// stride_j = extent_i * stride_i. A 1x1 convolution then has one pixel index and most maps one
// index at all. Guarded dimensions and constraints block it.
Nest merge_indices(const Nest &nest);
// Output indices, slowest first, as one that counts their points in that order; nothing where some
// operand does not lie so. `at` tells by index of the nest which it became.
struct MergedNest {
  Nest nest;
  Indexed<IndexId, IndexId> at;
};

std::optional<MergedNest> merge_into_one(const Nest &nest, const std::vector<IndexId> &indices);

} // namespace tilefuse::nest
