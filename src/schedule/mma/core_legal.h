// SPDX-License-Identifier: Apache-2.0
// Legality of schedules with a matrix instruction.
#pragma once

#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Why a schedule with `core` cannot run, beyond its shape; nothing when it can.
std::optional<std::string> wrong_core(const nest::Nest &nest, const Schedule &schedule,
                                      const Target &target);

// Whether the target has the instruction, and the nest its types.
std::optional<std::string> wrong_core_target(const nest::Nest &nest, const Schedule &schedule,
                                             const Target &target);
// Tiles of other indices than the channel, the depth and, in boxes of wgmma, pixels.
std::optional<std::string> wrong_core_loops(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
