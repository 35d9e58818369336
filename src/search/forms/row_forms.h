// SPDX-License-Identifier: Apache-2.0
// Schedules of reductions whose reduced points are dealt over lanes (schedule/lane_reduction.h): over
// work-items or the lanes of vectors along rows of memory that are reduced, and over work-items where
// results are too few to occupy a GPU.
#pragma once

#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::search {

// Some may not be legal; none for nests that reduce nothing, or that these forms cannot help: those
// that read no row along a reduced index and have many results, products with many, and products of
// matrices.
std::vector<schedule::Schedule> row_forms(const nest::Nest &nest, const Target &target);

} // namespace tilefuse::search
