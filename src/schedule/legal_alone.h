// SPDX-License-Identifier: Apache-2.0
// Whether a schedule can run one nest on a target, whatever feeds its inputs (schedule/members.h
// asks about a whole group).
#pragma once

#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Why the schedule cannot run the nest, or nothing when it can.
std::optional<std::string> illegal_alone(const nest::Nest &nest, const Schedule &schedule,
                                         const Target &target);

} // namespace tilefuse::schedule
