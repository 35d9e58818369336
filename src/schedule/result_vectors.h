// SPDX-License-Identifier: Apache-2.0
// Register copies that are neighbours in the result and that a work-item stores as vectors.
#pragma once

#include <cstdint>

#include "nest/nest.h"
#include "schedule/schedule.h"

namespace tilefuse::schedule {

// Neighbours of a vector, of the copies of all indices taken as one number, the last index fastest:
// at most 16 bytes, aligned to its size, of results whose post-ops read nothing else. 1: each is
// stored by itself.
std::int64_t stored_together(const nest::Nest &nest, const Schedule &schedule);

} // namespace tilefuse::schedule
