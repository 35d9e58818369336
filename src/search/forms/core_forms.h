// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions at the sizes worth trying: `mma`; `mma_tf32`, which rounds
// f32 operands to tf32 and is therefore never chosen unless asked for by name; and `mma_nchw32`,
// the kernel of MegEngine's article for channels in blocks of 32 bytes. What they share with wgmma
// (wgmma_forms.h): the form that a tile has, and which forms are worth a prediction.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/mma/core.h"
#include "search/forms/core_tiles.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::search {

// The form of a tile: output indices in the order of the result and the depth innermost, a depth of
// several indices in the order of memory. Not checked for legality. Requires no_core_roles to give
// no reason.
Schedule core_form(const Nest &nest, const CoreOp &op, std::string_view name,
                   const TileSizes &sizes);

// Whether the schedule is legal, its tiles are not mostly padding, and the target's compiler keeps
// its registers (target/quirks.h).
bool pays(const Nest &nest, const Schedule &schedule, const Target &target);

// Legal schedules, larger tiles first.
std::vector<Schedule> core_schedules(const Nest &nest, const Target &target, bool tf32);

bool is_core_algorithm(std::string_view name);
// The largest tile that still gives every multiprocessor a block, or the one with the most blocks.
NamedSchedule named_core_schedule(std::string_view name, const Nest &nest, const Target &target);
// Why an algorithm has no schedule, by one that does not pay.
NamedSchedule misfit(std::string_view name, const Nest &nest, const Schedule &last,
                     const Target &target);

} // namespace tilefuse::search
