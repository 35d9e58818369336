// SPDX-License-Identifier: Apache-2.0
// Random groups of two to four nests in a chain: convolutions of all kinds, maxima over windows and
// pointwise maps, each over what the one before computes.
#pragma once

#include "base/random.h"
#include "poly/group.h"

namespace tilefuse::model {

// The nests of a chain in the order in which they can run, with their bindings.
std::vector<poly::PlacedGroup> random_chain(Random &random);

// The chain as one group. Throws Error{Shape} if its members do not fit together.
poly::PlacedGroup fuse_chain(const std::vector<poly::PlacedGroup> &chain);

} // namespace tilefuse::model
