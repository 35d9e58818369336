// SPDX-License-Identifier: Apache-2.0
// Schedules of wgmma that fetch what post-ops read ahead (schedule/wgmma/wgmma_ahead.h) at the
// sizes worth trying.
#pragma once

#include <optional>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// The schedule with so many buffers for what it can fetch ahead, and as many of inputs as fit
// beside; nothing where it cannot.
std::optional<schedule::Schedule> with_ahead(const nest::Nest &nest, schedule::Schedule schedule,
                                             const Target &target, int buffers);

// Appends those of every schedule for which the target's compiler leaves registers.
void add_ahead(const nest::Nest &nest, const Target &target,
               std::vector<schedule::Schedule> &found);
// Of those the ones that may be faster: of groups in turn, one of which multiplies meanwhile.
void add_gaining_ahead(const nest::Nest &nest, const Target &target,
                       std::vector<schedule::Schedule> &found);

} // namespace tilefuse::search
