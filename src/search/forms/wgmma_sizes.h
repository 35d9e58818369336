// SPDX-License-Identifier: Apache-2.0
// Sizes that a form of wgmma (search/forms/core_forms.h) leaves open: those of its box of pixels,
// and how many buffers its local memory holds.
#pragma once

#include <cstdint>
#include <optional>

#include "nest/nest.h"
#include "schedule/mma/core.h"
#include "target/target.h"

namespace tilefuse::search {

// As deep a ring as fits, 8 at most.
int ring_for(const nest::Nest &nest, schedule::Schedule schedule, const Target &target);

// Gives inputs as many buffers as fit beside what else the schedule has in local memory, and warps
// their roles (roles.h). Windows have 2 to 4, beside a filter that is resident or has a ring of as
// many as there is room for then; at least 2 of each, which may not fit.
void fit_stages(const nest::Nest &nest, schedule::Schedule &schedule, const Target &target);

// The schedule with runs of results as wide as its own, or the widest that are legal.
std::optional<schedule::Schedule> with_runs(const nest::Nest &nest, schedule::Schedule schedule,
                                            const Target &target);

// The box of pixels with the fewest points that are none. Of blocks: so many neighbours. Of
// windows (a halo): 8 of the fastest index, and whole instructions of the next.
void choose_box(const nest::Nest &nest, schedule::Schedule &schedule, std::int64_t neighbours);

} // namespace tilefuse::search
