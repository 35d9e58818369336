// SPDX-License-Identifier: Apache-2.0
// What is tried for targets whose lanes are work-items: the named forms in several sizes.
#pragma once

#include <functional>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Legal schedules by matrix instructions, in a fixed order; none for nests that are not sums of
// products.
std::vector<schedule::Schedule> matrix_forms(const nest::Nest &nest, const Target &target);
// The same by multiply-adds and dot products, each visited once. What is not wanted is left out,
// before it is known to be legal.
void visit_multiply_adds(const nest::Nest &nest, const Target &target,
                         const std::function<bool(const schedule::Schedule &)> &is_wanted,
                         const std::function<void(schedule::Schedule)> &visit);
// A schedule with wgmma and more tiles than there are multiprocessors on clusters of two blocks
// that share the filter's tiles, and the data's; none for others.
std::vector<schedule::Schedule>
cluster_forms(const nest::Nest &nest, const schedule::Schedule &schedule, const Target &target);

} // namespace tilefuse::search
