// SPDX-License-Identifier: Apache-2.0
// Schedules with a core instruction drawn from their whole space: any warps, tiles, depth of a step
// and of the ring, any order of the loops.
#pragma once

#include <optional>

#include "base/random.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// A random legal one, named `sample`; f32 operands may be rounded to tf32. Nothing when no draw of
// a number of tries was legal.
std::optional<schedule::Schedule> sample_core(const nest::Nest &nest, const Target &target,
                                              Random &random);

} // namespace tilefuse::search
