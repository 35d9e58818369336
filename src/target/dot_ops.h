// SPDX-License-Identifier: Apache-2.0
// Dot products as data: a row per instruction says how many products of neighbours each lane of the
// sum adds, and of which types; a work-item has one lane. x86: vpmaddwd, vpdpbusd; NVIDIA: dp4a;
// OpenCL: cl_khr_integer_dot_product. Simulation, packing, schedules and code derive from the rows;
// which of them a target has, and how fast, its own row says (`dots`).
//
//   dot2.s16.s16.s32   sum[l] += a[2l] * b[2l] + a[2l + 1] * b[2l + 1]
//
// A matrix unit of a processor (Intel AMX: tdpbusd and its like) does so for rows of lanes at once,
// and for several groups of neighbours one behind the other, between registers that hold rows:
//
//   rowdot4.u8.s8.s32  sum[r][l] += a[r][4g + i] * b[g][4l + i], over all groups g and i below 4
//
// Sums wrap to their type; nothing saturates.
#pragma once

#include <span>
#include <string_view>

#include "target/dtype.h"

namespace tilefuse {

struct DotOp {
  std::string_view name; // "dot2.s16.s16.s32": products of a lane, types of a, b and the sum
  int products = 1;      // of each lane, neighbours in a and in b
  DType a{};
  DType b{};
  DType sum{};
  int rows = 1;      // of sums and of a, at most
  int groups = 1;    // of neighbours that each sum adds, at most
  int registers = 0; // of rows that the unit has
};

// Whether the instruction multiplies registers of rows.
inline bool has_rows(const DotOp &op) { return op.rows > 1; }

std::span<const DotOp> dot_ops();
// The row of that name, or null.
const DotOp *find_dot_op(std::string_view name);

// How many operations a second, multiplications and additions, a target does with an instruction.
struct DotRate {
  const DotOp *op = nullptr;
  double gops_per_unit = 0;
  friend bool operator==(const DotRate &, const DotRate &) = default;
};

} // namespace tilefuse
