// SPDX-License-Identifier: Apache-2.0
// The schedule of a named algorithm, or why the algorithm does not fit.
#pragma once

#include <optional>
#include <string>

#include "schedule/schedule.h"

namespace tilefuse::search {

struct NamedSchedule {
  std::optional<schedule::Schedule> schedule;
  std::string refusal; // why the algorithm does not fit, when there is no schedule
};

} // namespace tilefuse::search
