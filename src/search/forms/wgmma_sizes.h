// SPDX-License-Identifier: Apache-2.0
// Sizes that a form of wgmma (search/forms/wgmma_forms.h) leaves open: those of its box of pixels,
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

// The schedule with runs of results as wide as its own, or the widest that are legal.
std::optional<schedule::Schedule> with_runs(const nest::Nest &nest, schedule::Schedule schedule,
                                            const Target &target);

// The box of pixels with the fewest points that are none. Of blocks: so many neighbours. Of
// windows: 8 of the fastest index, and whole instructions of the next.
void choose_box(const nest::Nest &nest, schedule::Schedule &schedule, bool is_windowed,
                std::int64_t neighbours);

// As many windows as there is room for beside the filter, which is kept or has a ring of as many
// buffers as there is room for then; at least 2 of each, which may not fit.
void fit_windows(const nest::Nest &nest, schedule::Schedule &schedule, const Target &target,
                 bool keeps_filter);

// Whether the target's compiler spills registers of this form (target/quirks.h).
bool spills(const schedule::Gemm &gemm, const Target &target);

} // namespace tilefuse::search
