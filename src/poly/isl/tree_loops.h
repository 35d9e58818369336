// SPDX-License-Identifier: Apache-2.0
// The loops that a schedule tree stands for.
#pragma once

#include <string>

#include "poly/schedule_tree_node.h"

namespace tilefuse::poly {

// The loops in C that run the tree, as isl generates them; empty where the quota did not suffice.
std::string to_loops(const ScheduleTree &tree);

} // namespace tilefuse::poly
