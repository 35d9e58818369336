// SPDX-License-Identifier: Apache-2.0
// Schedules of groups with producers for targets whose lanes are work-items. A map is evaluated
// where the anchor copies. A nest that runs per tile has a schedule with as many work-items as the
// anchor: the best of those whose staging fits, for each of the anchor's best few block tiles.
#pragma once

#include <optional>

#include "poly/group.h"
#include "schedule/members.h"
#include "target/target.h"

namespace tilefuse::search {

std::optional<schedule::Schedule> pick_for_items(const poly::Group &group, const Target &target);

} // namespace tilefuse::search
