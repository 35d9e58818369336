// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions: what a schedule with `core` means for a nest.
//
// A sum of products is a matrix product of P x K by K x M: P points of the pixel indices (those
// that move the data only, taken as one number in the order of the schedule, the last fastest), M
// of the channel index (which moves the filter only), K of the reduced indices. A block computes
// `rows` x `columns` of it, a warp rows / warp_rows x columns / warp_columns, in steps of `depth`
// points of the depth; the other reduced indices are walked inside it, so that neighbouring taps
// find their data in a cache. Output indices that move both inputs or neither are grid positions.
//
// Channels and depth may lie in blocks (NCHW32: 32 channels of a pixel are neighbours). Several
// channel indices are taken as one number, the last contiguous in the result. So is the depth with
// the blocks around it, where the step's tile is a multiple of a block.
//
// A side lies straight in memory when the depth index is contiguous in it, turned when its own
// index is: the channel of a filter (an input gradient reads its filter so), the pixel of data.
// Where no side is straight (a filter gradient: errors and images lie by channels, and pixels are
// summed) the depth is all reduced indices taken as one number, the last of the schedule fastest;
// the tile of that index is then points of the number and may exceed its extent. Only elements of 2
// bytes are turned on their way to registers.
//
// Data that lies neither way (NCHW with taps) or in runs off 4 bytes (an odd number of channels) is
// gathered: work-items load it element by element while a step is computed, and store it behind it.
//
// In local memory a tile is rows without gaps: of `depth` elements for each pixel or channel when
// straight, 32, 64 or 128 bytes long; of the pixels or channels for each of `depth` points when
// turned. The 16-byte chunk c of row r lies at chunk c ^ swizzle(r), so that neither the copies nor
// ldmatrix meet in a bank (CuTe's Swizzle<3|2|1, 4, 3>).
//
// A work-item stores `vec` neighbouring channels. Rows of a straight filter are dealt out so that
// it ends with them: row 8j + 2t + b of a warp's tile holds channel vec * (4b + t) + j, for j <
// vec, t < 4, b < 2. Columns of a turned filter cannot be dealt: 16 rows of results at a time are
// exchanged through local memory, 4 neighbours each.
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
  bool data_turned = false;
  bool filter_turned = false;
  bool data_apart = false;   // straight, and not contiguous: its depth is elements apart
  int channel = 0;           // output index: the last of `channels`
  std::vector<int> channels; // output indices, slowest first; one where the filter is turned
  std::vector<int> pixels;   // output indices, slowest first; one where the data is turned
  std::vector<int> grid;     // the other output indices
  std::vector<int> depths;   // reduced indices, slowest first: one, its blocks and it, or all
  std::vector<int> walked;   // the other reduced indices, slowest first
  std::int64_t points = 1;   // of all pixel indices
  std::int64_t channel_points = 1;
  std::int64_t depth_points = 1; // of all depth indices
  // The index whose tile is a step's depth.
  int depth() const { return depths.back(); }
  bool is_turned(int input) const { return input == data ? data_turned : filter_turned; }
  // The depth is blocks around an index that is contiguous, not points that copies take apart.
  bool has_blocks() const { return depths.size() == 2 && !(data_turned && filter_turned); }
  // The index along which an input is contiguous.
  int contiguous(int input) const {
    return !is_turned(input) ? depth() : (input == data ? pixels.back() : channel);
  }
  friend bool operator==(const CoreRoles &, const CoreRoles &) = default;
};

// The index moves the operand by single elements, through a dimension that is not checked.
bool is_contiguous(const nest::Operand &operand, int index);

// Why no matrix instruction can compute the nest, or nothing when some can.
std::optional<std::string> no_core_roles(const nest::Nest &nest);
CoreRoles core_roles(const nest::Nest &nest, const Schedule &schedule);

// The row of the core table with which the nest's types are multiplied in steps of 32 bytes of
// depth, or null. `tf32` allows f32 operands to be rounded to tf32.
const CoreOp *core_op_for(const nest::Nest &nest, bool tf32);

// Elements of one asynchronous copy of an input: of 16, 8 or 4 bytes by how its strides divide; 0
// where not even 4 do.
std::int64_t core_copy_elems(const nest::Nest &nest, const Schedule &schedule, int input);

// Whether work-items gather an input, no asynchronous copy bringing it.
bool core_gathers(const nest::Nest &nest, const Schedule &schedule, int input);

// Sizes of a block's tile.
struct CoreTile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t warp_rows = 0; // of one warp's tile
  std::int64_t warp_columns = 0;
  std::int64_t elem_bytes = 0;
  std::int64_t spread = 1; // elements of data in the ring for each that is used
  std::int64_t row_bytes() const { return depth * elem_bytes; }
  // Elements of a 16-byte chunk.
  std::int64_t chunk() const { return 16 / elem_bytes; }
  std::int64_t ring_bytes(int ring) const { return ring * (rows * spread + columns) * row_bytes(); }
  std::int64_t warps() const { return rows / warp_rows * (columns / warp_columns); }
};

CoreTile core_tile(const nest::Nest &nest, const Schedule &schedule);

// How one input's tile lies in local memory.
struct CoreSideTile {
  std::int64_t rows = 0;
  std::int64_t elems = 0; // of a row
};
CoreSideTile core_side_tile(const CoreRoles &roles, const CoreTile &tile, int input);

// Bits by which chunks of row `row` are exchanged: row / divisor % modulus.
struct Swizzle {
  std::int64_t divisor = 1;
  std::int64_t modulus = 1;
};
Swizzle core_swizzle(std::int64_t row_bytes);

// Results that a warp exchanges at a time where the filter is turned: elements of a row of them,
// apart so that neither stores nor loads meet in a bank, and of the block's buffer. 0: none are.
constexpr std::int64_t kExchangeRows = 16;
constexpr std::int64_t kExchangeVec = 4;
std::int64_t exchange_row(const CoreTile &tile);
std::int64_t exchange_elems(const CoreRoles &roles, const CoreTile &tile);
// Of the ring and of that buffer.
std::int64_t core_local_bytes(const nest::Nest &nest, const Schedule &schedule);

std::int64_t core_blocks(const nest::Nest &nest, const Schedule &schedule);
// Steps of depth over all reduced indices.
std::int64_t core_steps(const nest::Nest &nest, const Schedule &schedule);

// Why a schedule with `core` cannot run, beyond its shape; nothing when it can.
std::optional<std::string> wrong_core(const nest::Nest &nest, const Schedule &schedule,
                                      const Target &target);

} // namespace tilefuse::schedule
