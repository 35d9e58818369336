// SPDX-License-Identifier: Apache-2.0
// Which kernels are one launch (launch/launch.h).
//
// Kernels become one launch where they come from one statement, follow each other and write the
// same tensor, as the classes of a strided input gradient or of a transposed convolution do
// (launch/classes.h). They run side by side; the slowest is the launch's first part. The others
//
// - are stored between the results of the first part, or dealt to its blocks: plain maps, such as
//   the zeros between pixels, on targets with work-items;
// - take the tiles of the first part's blocks in step with it;
// - or have blocks of their own, with as many work-items.
//
// A kernel takes another schedule for that than it would alone where the cost model says that it
// pays. A kernel that fits none of these is a launch of its own.
//
// Small kernels that do not depend on each other share a launch too (small_launches.h).
//
// Where kernels must stay in order, maps follow those that they read the results of, point by point
// (launch/following.h), as an optimiser's do; else reductions follow so, and classes without a matrix
// instruction each other, where the first part keeps all multiprocessors busy.
//
// Parts of a reduction and their join are one launch where search/split says so and a schedule of
// the parts allows it (schedule/tile_join.h).
#pragma once

#include <vector>

#include "launch/launch.h"
#include "search/network/launch_schedules.h"
#include "target/target.h"

namespace tilefuse::search {

// Which kernels may share a launch: none; those that then stay in order, where tensors lie in one
// place and the program does not know of it; or any that do not depend on each other.
enum class Sharing { None, InOrder, Any };

// Launches, in order, of kernels that are given in order, each with its schedule. All launches are
// legal (launch::illegal).
std::vector<launch::Launch> choose_launches(std::vector<launch::Part> kernels, const Target &target,
                                            const PickOfSize &pick, Sharing sharing = Sharing::Any);

} // namespace tilefuse::search
