// SPDX-License-Identifier: Apache-2.0
// Dot products (schedule/dots.h) in schedules of vectors and of work-items.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/dot_ops.h"

namespace tilefuse::search {

// The output index whose lanes can read the groups of a constant next to each other: the nearest in
// the result that moves the constant and not the other input. Nothing where there is none, or where
// the nest is no sum of products of the types.
std::optional<nest::IndexId> dot_lanes(const nest::Nest &nest, const DotOp &op);

// A schedule whose lanes are those, with groups of the reduced index that the other input has next
// to each other, the constant packed, and the other input staged where it is of another type or
// ends within a group. Nothing where there is no such index. Work-items keep their lanes, and the
// other input the place that it has.
std::optional<schedule::Schedule> with_dots(const nest::Nest &nest, const DotOp &op,
                                            schedule::Schedule schedule);

// Rows that an instruction of rows may take of an output index: all it can, and as many as divide
// the index.
std::vector<std::int64_t> row_counts(const nest::Nest &nest, const DotOp &op, nest::IndexId index);
// The points of the index are rows, of so many registers, and those of no other.
void set_rows(const nest::Nest &nest, schedule::Schedule &schedule, nest::IndexId index,
              std::int64_t rows, std::int64_t copies);

} // namespace tilefuse::search
