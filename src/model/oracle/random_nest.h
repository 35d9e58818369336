// SPDX-License-Identifier: Apache-2.0
// Random nests of every kind that networks and their gradients are made of, with small awkward
// extents (1, primes, 3 channels), gaps in storage and dimensions in any order of memory. The
// simplest choice of every draw is the first, so that a tape of zeros gives a small plain nest.
#pragma once

#include "base/random.h"
#include "nest/nest.h"

namespace tilefuse::model {

// Convolutions of rank 1 to 3 (strides, dilation, groups, padding that differs by side) and their
// gradients; pooling; matrix products; reductions by every aggregation; copies; pointwise chains;
// and affine nests of no particular meaning.
nest::Nest random_nest(Random &random);

} // namespace tilefuse::model
