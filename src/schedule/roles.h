// SPDX-License-Identifier: Apache-2.0
// What the indices of a convolution or a product are for: which move channels, pixels, depth and
// taps.
#pragma once

#include <optional>
#include <vector>

#include "nest/nest.h"

namespace tilefuse::schedule {

using nest::IndexId;

// Output indices of extent 1 have no role.
struct Roles {
  int data = 0; // inputs
  int filter = 1;
  std::vector<IndexId> channels, pixels, shared; // output indices, smallest result stride first
  std::vector<IndexId> depth, taps;              // reduced indices
};

// Nothing for a nest that is not a sum of products of two inputs.
std::optional<Roles> roles_of(const nest::Nest &nest);

} // namespace tilefuse::schedule
