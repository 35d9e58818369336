// SPDX-License-Identifier: Apache-2.0
// Legality of dot products (schedule/dots.h).
#pragma once

#include <optional>
#include <string>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Why the dot product of a schedule cannot be computed, or nothing; nothing too where there is
// none. Requires splits, lanes and streams that are legal.
std::optional<std::string> wrong_dot(const nest::Nest &nest, const Schedule &schedule,
                                     const Target &target);

} // namespace tilefuse::schedule
