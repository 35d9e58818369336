// SPDX-License-Identifier: Apache-2.0
// Schedules of two products with rows between them (schedule/mma/row_products.h): so many rows a
// block, keys to whole instructions or to what its work-items copy evenly, a row's in one warp or
// in several.
#pragma once

#include <vector>

#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Legal schedules of a group with rows: fewest warps to a row first, and of these most rows.
std::vector<schedule::Schedule> row_product_schedules(const poly::Group &group,
                                                      const Target &target);

} // namespace tilefuse::search
