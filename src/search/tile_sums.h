// SPDX-License-Identifier: Apache-2.0
// Schedules of groups that add up what they store, tile by tile (schedule/wgmma/tile_sums.h): those
// of the anchor whose tiles the sums' parts are, with as many stages as local memory leaves room
// for.
#pragma once

#include <optional>
#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Schedules of a nest whose tiles can be added up, the quickest first.
std::vector<schedule::Schedule> tile_sum_schedules(const nest::Nest &nest, const Target &target);
// A schedule with fewer stages where the group's sums leave no room for all; nothing where it is
// not legal for the group.
std::optional<schedule::Schedule>
fit_tile_sums(const poly::Group &group, const schedule::Schedule &schedule, const Target &target);
// The best of a group with sums by the cost model; nothing when there is none.
std::optional<schedule::Schedule> pick_with_sums(const poly::Group &group, const Target &target);

} // namespace tilefuse::search
