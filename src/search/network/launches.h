// SPDX-License-Identifier: Apache-2.0
// Which kernels are one launch (launch/launch.h).
//
// Those of one statement that follow each other and write the same tensor, as the classes of a
// strided input gradient or of a transposed convolution do (launch/classes.h), run side by side.
// The slowest is the launch's first part. Plain maps, such as the zeros between pixels, are stored
// between its results or dealt to its blocks, on targets with work-items; the others take its
// blocks' tiles in step, or have blocks of their own with as many work-items, and take other
// schedules for that than they would alone where the cost model says that it pays. What does not
// fit is a launch of its own.
//
// Parts of a reduction and their join are one launch where search/split said so and a schedule of
// the parts allows it (schedule/tile_join.h).
#pragma once

#include <vector>

#include "launch/launch.h"
#include "search/network/launch_schedules.h"
#include "target/target.h"

namespace tilefuse::search {

// The launches of scheduled groups that stand in order, each alone; in order. `joins`: else every
// kernel is a launch of its own. All are legal (launch::illegal).
std::vector<launch::Launch> choose_launches(std::vector<launch::Part> kernels, const Target &target,
                                            const PickOfSize &pick, bool joins = true);

} // namespace tilefuse::search
