// SPDX-License-Identifier: Apache-2.0
// Local memory of a block with wgmma.
#pragma once

#include <cstdint>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Of the ring, or of both where windows have one of their own; and of all.
std::int64_t ring_local_bytes(const nest::Nest &nest, const Schedule &schedule);
std::int64_t wgmma_local_bytes(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
