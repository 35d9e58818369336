// SPDX-License-Identifier: Apache-2.0
// Schedules of groups with producers for targets whose lanes are work-items. A map is evaluated
// where the anchor copies, or in the ring of matrix instructions. A nest that runs per tile has a
// schedule with as many work-items as the anchor: the best of those whose staging fits, for each of
// the anchor's best few block tiles.
#pragma once

#include <optional>
#include <vector>

#include "poly/group.h"
#include "schedule/members.h"
#include "search/pick.h"
#include "target/target.h"

namespace tilefuse::search {

// Schedules of a group of which all producers are maps of the anchor, best first: those of matrix
// instructions, and of the others the best, at least so many where there are.
std::vector<Candidate> mapped_candidates(const poly::Group &group, const Target &target,
                                         std::size_t count);

std::optional<schedule::Schedule> pick_for_items(const poly::Group &group, const Target &target);

} // namespace tilefuse::search
