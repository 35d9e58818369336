// SPDX-License-Identifier: Apache-2.0
// Schedule trees as isl has them, for the sources of poly/ alone.
#pragma once

#include <isl/schedule.h>

#include <memory>

#include "poly/isl/isl_objects.h"
#include "poly/schedule_tree_node.h"

namespace tilefuse::poly {

using IslSchedule = std::unique_ptr<isl_schedule, Freed<isl_schedule_free>>;

// Null where isl does not take it. What is skipped gets an empty filter, which generates nothing.
IslSchedule to_isl(const ScheduleTree &tree);
// When each instance runs, of a tree without extensions.
Relation time_of(const IslSchedule &schedule);

} // namespace tilefuse::poly
