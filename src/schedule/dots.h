// SPDX-License-Identifier: Apache-2.0
// Dot products in a schedule: each lane of a vector adds several products at once, of neighbours of
// one reduced index.
//
//   vec    c:2                        the index, and its neighbours in a group
//   dot    dot2.s16.s16.s32           a row of target/dot_ops.h
//
// The vector of one operand has the groups of all lanes next to each other, as a constant that is
// packed does: [.. c/2][m][2], zeros where c ends. A group of the other is read once and repeated.
// A work-item has one sum of its own, and reads a group of each. Both operands are held in the
// types that the instruction reads, into which they fit.
#pragma once

#include <cstdint>
#include <optional>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/dot_ops.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Whether the nest is a sum of products, of types that fit those of the instruction.
bool fits(const nest::Nest &nest, const DotOp &op);

// The operand of the instruction that an input of such a nest becomes: a or b.
enum class DotSide { A, B };
DotSide dot_side(const nest::Nest &nest, const DotOp &op, int input);
DType dot_type(const nest::Nest &nest, const DotOp &op, int input);

// The reduced index whose neighbours a lane multiplies at once, if any.
std::optional<IndexId> dot_index(const nest::Nest &nest, const Schedule &schedule);
// How many neighbours that are; 1 without a dot product.
std::int64_t products_of_lane(const Schedule &schedule);

// Operations a second that no schedule of the nest exceeds on a unit of the target.
double peak_gops(const nest::Nest &nest, const Target &target);

} // namespace tilefuse::schedule
