// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nest/nest.h"

namespace tilefuse::nest {

// Whether a nest reduces nothing and computes a term of its inputs: a map of operands that may be
// staged.
inline bool maps_inputs(const Nest &nest) {
  return nest.agg == program::Agg::Assign && nest.comb == program::Comb::Term &&
         nest.output_indices == static_cast<int>(nest.indices.size());
}

} // namespace tilefuse::nest
