// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions: what a schedule with `core` means for a nest.
//
// A sum of products is a matrix product of P x K by K x M: P points of the pixel indices (those
// that move the data only, taken as one number in the order of the schedule, the last fastest), M
// of the channel index (which moves the filter only), K of the reduced indices. A block computes
// `rows` x `columns` of it, a warp rows / warp_rows x columns / warp_columns, in steps of `depth`
// points of the depth index, which lies contiguously in both inputs; the other reduced indices are
// walked inside it, so that neighbouring taps find their data in a cache. Output indices that move
// both inputs or neither are grid positions.
//
// In local memory a tile is rows of `depth` elements of 32, 64 or 128 bytes without gaps. The
// 16-byte chunk c of row r lies at chunk c ^ swizzle(r), so that neither the copies nor ldmatrix
// meet in a bank (CuTe's Swizzle<3|2|1, 4, 3>). The filter's rows are dealt out so that a work-item
// ends with `vec` neighbouring channels of a pixel: row 8j + 2t + b of a warp's tile holds channel
// vec * (4b + t) + j, for j < vec, t < 4, b < 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Roles of the indices; requires no_core_roles(nest) to give no reason.
struct CoreRoles {
  int data = 0; // inputs
  int filter = 1;
  int channel = 0;         // output index
  std::vector<int> pixels; // output indices, slowest first
  std::vector<int> grid;   // the other output indices
  int depth = 0;           // reduced index
  std::vector<int> walked; // the other reduced indices, slowest first
  std::int64_t points = 1; // of all pixel indices
};

// Why no matrix instruction can compute the nest, or nothing when some can.
std::optional<std::string> no_core_roles(const nest::Nest &nest);
CoreRoles core_roles(const nest::Nest &nest, const Schedule &schedule);

// The row of the core table with which the nest's types are multiplied in steps of 32 bytes of
// depth, or null. `tf32` allows f32 operands to be rounded to tf32.
const CoreOp *core_op_for(const nest::Nest &nest, bool tf32);

// Elements of one asynchronous copy of an input: of 16, 8 or 4 bytes by how its strides divide; 0
// where not even 4 do.
std::int64_t core_copy_elems(const nest::Nest &nest, const Schedule &schedule, int input);

// Sizes of a block's tile.
struct CoreTile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t warp_rows = 0; // of one warp's tile
  std::int64_t warp_columns = 0;
  std::int64_t elem_bytes = 0;
  std::int64_t row_bytes() const { return depth * elem_bytes; }
  // Elements of a 16-byte chunk.
  std::int64_t chunk() const { return 16 / elem_bytes; }
  std::int64_t local_bytes(int ring) const { return ring * (rows + columns) * row_bytes(); }
};

CoreTile core_tile(const nest::Nest &nest, const Schedule &schedule);
// Bits by which chunks of row `row` are exchanged: row / divisor % modulus.
struct Swizzle {
  std::int64_t divisor = 1;
  std::int64_t modulus = 1;
};
Swizzle core_swizzle(const CoreTile &tile);

std::int64_t core_blocks(const nest::Nest &nest, const Schedule &schedule);
// Steps of depth over all reduced indices.
std::int64_t core_steps(const nest::Nest &nest, const Schedule &schedule);

// Why a schedule with `core` cannot run, beyond its shape; nothing when it can.
std::optional<std::string> wrong_core(const nest::Nest &nest, const Schedule &schedule,
                                      const Target &target);

} // namespace tilefuse::schedule
