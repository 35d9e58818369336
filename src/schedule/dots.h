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
//
// An instruction of rows (`has_rows`) takes the points of an output index with `vec` as rows of
// sums, and the register copies of the reduced index as groups that each sum adds at once:
//
//   lane   m:16
//   vec    x:16 c:4
//   reg    x:2 m:2 c:16               4 registers of 16 rows of x and 16 lanes of m; 64 c at once
//   dot    rowdot4.u8.s8.s32
//
// Operand a then has a row of neighbours for each point, as they lie, and b is the packed one. Sums
// go through local memory to what is done with them.
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

inline bool has_dot_rows(const Schedule &schedule) {
  return schedule.dot != nullptr && has_rows(*schedule.dot);
}
// Points of an index that one instruction of rows takes together: rows of an output index,
// neighbours of the reduced one; 1 of others.
std::int64_t points_of_rows(const nest::Nest &nest, const Schedule &schedule, IndexId index);

// The registers of rows of a step, with an instruction of rows.
struct DotRows {
  IndexId index{};         // whose points are rows
  IndexId depth{};         // the reduced index
  int data = 0;            // input that is a
  int filter = 1;          // and b
  std::int64_t rows = 1;   // of a register of sums
  std::int64_t last = 0;   // of one that holds the points left at the end of the index; 0: none is
  std::int64_t groups = 1; // rows of a register of b
  std::int64_t sums = 1;   // registers of sums in a step
  std::int64_t last_sums = 0; // of those with the last points
  std::int64_t filters = 1;   // registers of b
  // One register of a serves all sums in turn; those of the last points have their own.
  std::int64_t registers() const;
};
// Requires a legal group of the dot product (schedule/legal_dots.h) and an index of rows; none:
// there is no such index.
std::optional<DotRows> dot_rows(const nest::Nest &nest, const Schedule &schedule);
// Sums of a step in local memory; 0 without an instruction of rows.
std::int64_t row_sums_elems(const nest::Nest &nest, const Schedule &schedule);

// Operations a second that no schedule of the nest exceeds on a unit of the target.
double peak_gops(const nest::Nest &nest, const Target &target);

} // namespace tilefuse::schedule
