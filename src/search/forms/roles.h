// SPDX-License-Identifier: Apache-2.0
// What the warps of a kernel with wgmma are given to do, where measurements say: the registers of
// each role, how far ahead they copy, how they treat rows that are not there, and in which order
// they take instructions and tiles (schedule::Core).
#pragma once

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Sets these for the anchor of a group, from the rest of its schedule; of others than wgmma
// nothing. To be asked again when tiles, buffers, clusters, producers or warps have changed.
void assign_roles(const nest::Nest &anchor, schedule::Schedule &schedule, const Target &target);

} // namespace tilefuse::search
