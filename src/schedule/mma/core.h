// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions: what a schedule with `mma` means for a nest.
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
// the tile of that index is then points of the number and may exceed its extent. Elements of 2
// bytes are turned on their way to registers by ldmatrix or wgmma itself, those of 4 by loads of an
// instruction of a warp (target/core_ops.h).
//
// Data that lies neither way (NCHW with taps), and inputs whose rows lie off 4 bytes (an odd number of
// channels), straight or turned, are gathered: work-items load runs of elements while a step is
// computed, and store them behind it.
//
// In local memory a tile is rows without gaps: of `depth` elements for each pixel or channel when
// straight, 32, 64 or 128 bytes long; of the pixels or channels for each of `depth` points when
// turned. The 16-byte chunk c of row r lies at chunk c ^ swizzle(r), so that neither the copies nor
// ldmatrix meet in a bank (CuTe's Swizzle<3|2|1, 4, 3>).
//
// A work-item stores `vec` neighbouring channels. Rows of a straight filter are dealt out so that
// it ends with them: row 8j + 2t + b of a warp's tile holds channel vec * (4b + t) + j, for j <
// vec, t < 4, b < 2. Columns that ldmatrix turns cannot be dealt: 16 rows of results at a time are
// exchanged through local memory, 4 neighbours each.
//
// Turned words are loaded into the registers where they are multiplied, of 32 rows or columns at a
// time. A work-item (t, g) has rows g and g + 8 of a fragment, which are neighbours of one point of
// the depth: row 8h + g of the fragment number s, s < 2, is pixel 16 * (g / 2 % 2) + 8s +
// 4 * (g / 4) + 2 * (g % 2) + h, a load of 8 bytes for h < 2. Column g of the fragment number f,
// f < 4, is channel 16 * (g / 4) + 4f + g % 4, so that a work-item ends with runs of 2. The lanes
// of such a load, 4 points of the depth each, lie in banks of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/mma/core_roles.h"
#include "schedule/schedule.h"
#include "schedule/wgmma/row_blocks.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Sizes that all rows of the core table share (PTX ISA, "Matrix fragments" of mma and wgmma).
constexpr std::int64_t kStepBytes = 32;  // of depth, by one instruction
constexpr std::int64_t kCoreRows = 16;   // of one mma
constexpr std::int64_t kCoreColumns = 8; // likewise
constexpr std::int64_t kGroupRows = 64;  // of one wgmma
constexpr std::int64_t kHalfRows = 8;    // between the two rows of a work-item's results
constexpr std::int64_t kPairs = 2;       // neighbouring columns that a work-item ends with
constexpr std::int64_t kRowItems = 4;    // work-items that have a row of an mma's results

// The row of the core table with which the nest's types are multiplied in steps of 32 bytes of
// depth, or null. `tf32` allows f32 operands to be rounded to tf32.
const CoreOp *core_op_for(const nest::Nest &nest, bool tf32);

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
  friend bool operator==(const CoreTile &, const CoreTile &) = default;
};

// A product of matrices: a nest, a schedule that computes it by a matrix instruction, and what
// follows from the two. Borrows both.
struct Gemm {
  const nest::Nest &nest;
  const Schedule &schedule;
  CoreRoles roles;
  RowBlocks row; // wgmma: of channels in blocks
  CoreTile tile;
  const Core &core() const { return schedule.core; }
};
// Requires no_core_roles to give no reason, and tiles of at least one point.
Gemm gemm_of(const nest::Nest &nest, const Schedule &schedule);

// Elements of one asynchronous copy of an input: of 16, 8 or 4 bytes by how its strides divide; 0
// where not even 4 do.
std::int64_t core_copy_elems(const Gemm &gemm, int input);

// Whether work-items gather an input, no asynchronous copy bringing it.
bool core_gathers(const Gemm &gemm, int input);

// Whether warps read an input's tile, which lies turned, by loads of words.
bool reads_words(const Gemm &gemm, int input);

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

// Pixels or channels that are dealt at a time where words are read.
constexpr std::int64_t kWordGroup = 32;

// Results that a warp exchanges through local memory of its own, 16 rows at a time, where a turned
// filter's columns cannot be dealt: work-items then store runs of 4 neighbours with mma, of 8 with
// wgmma, whose runs of 2 leave as they are. With mma also those of which work-items store one each,
// neighbours by neighbouring work-items: where rows of the result lie so that longer runs would be
// stored by single elements all the same.
constexpr std::int64_t kExchangeRows = 16;
constexpr std::int64_t kExchangeVec = 4;
constexpr std::int64_t kPanelVec = 8;
constexpr std::int64_t kPanelColumns = 64;
struct Exchange {
  std::int64_t columns = 0; // at a time; 0: none
  DType type{};             // of the results there
  bool is_stored = false;   // they are what is stored: post-ops came before, or there are none
  // Elements from a row to the next, so that neither stores nor loads meet in a bank; of a warp.
  std::int64_t row() const { return columns + 8; }
  std::int64_t elems() const { return kExchangeRows * row(); }
};
Exchange exchange_of(const Gemm &gemm);
bool exchanges(const Gemm &gemm);
// Of the channels that a work-item stores as neighbours, how many are sure to begin at a multiple of
// as many elements.
std::int64_t aligned_run(const Gemm &gemm);

// Neighbouring channels that a work-item of mma stores where the filter lies turned.
std::int64_t turned_run(const Gemm &gemm);
// Warps that multiply and store.
std::int64_t storing_warps(const Schedule &schedule);

// Steps of the depth alone; each is a window of a tile where a pipe holds windows.
std::int64_t windows_of_tile(const Gemm &gemm);
// Steps of depth over all reduced indices.
std::int64_t core_steps(const Gemm &gemm);

} // namespace tilefuse::schedule
