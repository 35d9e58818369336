// SPDX-License-Identifier: Apache-2.0
// Schedules with a core instruction whose ring maps feed (core_feeds.h): the anchor's forms, with
// groups of warps that map, and as deep a ring as leaves room for what the maps read besides.
#pragma once

#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Legal schedules, larger tiles first; none where the group's producers are not maps of the anchor.
std::vector<schedule::Schedule> fed_core_schedules(const poly::Group &group, const Target &target,
                                                   bool tf32);

} // namespace tilefuse::search
