// SPDX-License-Identifier: Apache-2.0
// Schedules of groups with producers: a block tile of the anchor, and for each tile that it stages
// a schedule of the nest that computes it, down the chain. A group without producers has the
// candidates of its anchor (search/pick.h).
#pragma once

#include <optional>

#include "cost/model.h"
#include "poly/group.h"
#include "schedule/members.h"
#include "target/target.h"

namespace tilefuse::search {

// The best schedule of the group by the cost model; nothing when no tile of its producers fits.
std::optional<schedule::Schedule> pick_fused(const poly::Group &group, const Target &target);

// The same for any group: Error{Unsupported} when nothing fits.
schedule::Schedule pick(const poly::Group &group, const Target &target);

} // namespace tilefuse::search
