// SPDX-License-Identifier: Apache-2.0
// How work-items copy what a schedule stages (schedule::Pipe::width and rounds): as wide as the
// copy may be, its rounds written out while they are few, their offsets in registers while there
// are enough.
//
//   stage  0 at c transposed stages 2   ->   stage  0 at c transposed stages 2 width 4 hold
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "schedule/staging.h"
#include "target/target.h"

namespace tilefuse::search {

// Lets work-items copy plainly, producers' too, so that a part of the schedule can be changed.
void clear_copies(schedule::Schedule &schedule);

// Sets how they copy, whatever it was, from the rest of the schedule. Where that is not legal,
// gives the reason and clears the copies. To be asked again when anything else has changed.
std::optional<std::string> assign_copies(const nest::Nest &nest, schedule::Schedule &schedule,
                                         const Target &target);
// The same of a legal schedule that copies plainly, where it is known how its inputs lie.
void assign_copies(const nest::Nest &nest, schedule::Schedule &schedule, const Target &target,
                   const std::vector<schedule::InputPlace> &places);
std::optional<std::string> assign_copies(const poly::Group &group, schedule::Schedule &schedule,
                                         const Target &target);

} // namespace tilefuse::search
