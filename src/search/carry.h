// SPDX-License-Identifier: Apache-2.0
// A schedule of one nest for another that computes much the same, as the partial nests of a split
// reduction do: they have indices in common, by name, and others beside.
#pragma once

#include <optional>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::search {

// Common indices are split and ordered as in `from`, a reduced one in chunks no longer than its
// extent; others are outermost, outputs a point a block and reduced ones whole. Nothing where lanes
// or fills belong to an index that `to` has not. It need not be legal.
std::optional<schedule::Schedule> carry(const nest::Nest &from, const schedule::Schedule &schedule,
                                        const nest::Nest &to);

} // namespace tilefuse::search
