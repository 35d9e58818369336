// SPDX-License-Identifier: Apache-2.0
// Which tiles of a group's anchor can roll (schedule/rolling.h), and how many of them a block
// takes.
#pragma once

#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Whether neighbouring tiles along an index of a member share elements of a tensor that is produced
// for it.
bool has_halo(const poly::Group &group, const nest::Nest &nest, poly::MemberId member,
              nest::IndexId index);

// A schedule of the anchor, and the same with tiles that overlap one behind the other in blocks of
// several, of which each unit has one to four.
std::vector<schedule::Schedule> runs(const poly::Group &group, const schedule::Schedule &schedule,
                                     const Target &target);

} // namespace tilefuse::search
