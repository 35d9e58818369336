// SPDX-License-Identifier: Apache-2.0
// How the accumulators of a nest lie while it is evaluated: one per output point.
#pragma once

#include "nest/nest.h"

namespace tilefuse::nest {

// Where an output point's accumulator lies: row-major over the output indices.
Linear accumulator_address(const Nest &nest);

} // namespace tilefuse::nest
