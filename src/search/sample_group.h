// SPDX-License-Identifier: Apache-2.0
// Random schedules of groups.
#pragma once

#include <optional>

#include "base/random.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// A random legal schedule of the group and all its members (search/sample.h).
std::optional<schedule::Schedule> sample(const poly::Group &group, const Target &target,
                                         Random &random);

} // namespace tilefuse::search
