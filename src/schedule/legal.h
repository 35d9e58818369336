// SPDX-License-Identifier: Apache-2.0
// Whether a schedule can run a nest on a target, with the reason where it cannot.
// schedule/members.h asks the same of a whole group.
#pragma once

#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Why `schedule` cannot run `nest` alone on `target`, or nothing when it can.
std::optional<std::string> illegal(const nest::Nest &nest, const Schedule &schedule,
                                   const Target &target);

} // namespace tilefuse::schedule
