// SPDX-License-Identifier: Apache-2.0
// Schedules drawn from the whole space, good and bad alike: what the compiler is tested with and
// what the cost model's choice is compared against.
#pragma once

#include <optional>

#include "base/random.h"
#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// A random legal schedule, named `sample`: any lane indices and widths, register copies, block
// tiles (divisors of an extent or not), chunks of reduced indices, loop order, fills and layouts. A
// draw that breaks a rule is repaired by giving up what broke it. Lanes over several indices,
// vectors inside work-items, chunks and staging levels are not drawn. Nothing when no draw of a
// number of tries could be made legal. The same state of `random` gives the same schedule.
std::optional<schedule::Schedule> sample(const nest::Nest &nest, const Target &target,
                                         Random &random);

} // namespace tilefuse::search
