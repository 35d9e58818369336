// SPDX-License-Identifier: Apache-2.0
// Two products with rows between them (schedule/mma/row_products.h) as a kernel:
//
//   start the copies of the first product's data and filter, and of the second's filter
//   wait for the first two; barrier
//   row tile of registers = the first product's post-ops of its sums
//   for maps and statistics, in the order in which they depend on each other {
//     map: values of another tile
//     statistic: of what a work-item has of its two rows; local memory; barrier; of the four of
//                each warp that shares the row
//   }
//   multiply the last tile, as fragments, with the second filter
//   where warps share rows: sums to local memory; barrier; those of a warp's columns of all parts
//   store
#pragma once

#include "kernel/nodes.h"
#include "poly/group.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::lower {

// Requires a group with rows and a legal schedule.
kernel::Kernel build_row_products(const poly::Group &group, const schedule::Schedule &schedule,
                                  const Target &target);

} // namespace tilefuse::lower
