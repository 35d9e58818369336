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
// instruction of a warp (target/core_ops.h), or for wgmma in the ring: warps of the transform role
// turn each panel of 32 points of the depth by 32 channels or pixels where it lies.
//
//   wgmma  m64n128k8.tf32.f32 m 256 warpgroups 2 1
//   pipe   0 tma stages 4
//   pipe   1 tma stages 4
//   role   transform groups 1 registers 104
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
//
// With `wgmma` roles, tiles and steps are the same; what differs is who does what. A producer fills
// the pipes by tensor copies, `warpgroups A B` multiply from them and store: A x B tiles of a
// block's. With `order persistent N` N blocks take every N-th tile; columns of tiles change fastest,
// so that blocks that run together share rows, or with `raster m` rows, so that they share columns.
//
//   wgmma  m64n128k16.f16.f32 m 128 warpgroups 2 1
//   pipe   0 tma stages 6
//   pipe   1 tma stages 6
//   order  persistent 132
//
// With `role math pingpong 2` two groups take whole tiles in turn: one multiplies while the other
// stores.
//
// With `order cluster R C` R x C blocks run together on as many neighbouring tiles, R of rows by C
// of columns. The R blocks of a column multiply by one tile of the filter: each copies an R-th of it
// by multicast, to the local memory of all R. The C blocks of a row share the tile of data in the
// same way. A block copies into a buffer again when all blocks that receive its copies have
// released that buffer. Filler tiles of the last clusters are computed and not stored.
//
// Data is copied as one matrix of points where it lies as one, else by an im2col map: points of the
// pixel indices in the order of the schedule, a tap as an offset to them. A straight filter is
// copied with its rows dealt: row 8j + 2t + b of a tile holds channel 4v * (j / (v / 2)) + v * t +
// 2 * (j % (v / 2)) + b for v = `vec`, so that a work-item ends with v neighbouring channels;
// where those are no neighbours in the result (NCHW), 8 work-items store neighbouring pixels of
// each. A turned filter is copied in panels of 128 bytes of channels; its vec is 2, or 8 where each
// warp exchanges 16 rows of a panel's columns at a time through local memory; words that are turned in
// the ring may be dealt there for a vec of 4. Words of operand a are not turned: registers hold them.
//
// With tiles of the pixel indices (`tile n:8 y:4 x:4`) a tile's pixels are a box of them, the last
// of the schedule fastest, which a tiled map copies, and not an im2col map. So are those of
// channels in blocks (NCHW32), whose boxes hold `x` neighbouring pixels in a row of the ring, which
// are the fastest of the tile: a step's blocks are panels of such rows. The instruction reads a
// pixel's 32 bytes a row, so that copies exchange chunks of more bits than it does: row i of the
// tile is pixel i ^ (i / 8 % x). Where `x` steps over pixels a row holds those between as well.
//
// With `order split_k P` the blocks of a cluster take parts of a tile's steps
// (schedule/wgmma/wgmma_tiles.h).
//
// With `pipe 0 halo tma stages N` a tile's pixels are a box of them, 8 of the fastest index, and
// the data's ring holds N windows: all pixels that any tap of the box reads, copied once for each
// step of the depth. A tap is where the instruction starts in the window, 8 pixels a group of rows.
// The walked indices are then walked inside the depth. With `pipe 1 resident tma` the buffers of
// the filter hold all steps of all channels and are filled once for all of a block's tiles.
//
//   wgmma  m64n64k16.f16.f32 m 256 warpgroups 2 1
//   pipe   0 halo tma stages 3
//   pipe   1 resident tma stages 9
//   order  persistent 132
//
// With `swap_ab` the instruction's rows are channels, in tiles of multiples of 64, and its columns
// points: 49 or 196 of them fill 56 or 200 columns. Channels are dealt in pairs, row 16j + 8b + g
// of a tile holds channel 16j + 2g + b, so that 8 work-items store whole sectors; `vec` is 2, or 1
// where they are not dealt. A turned filter is dealt where it is kept, once it has come.
//
// With `store tma` results leave as boxes of local memory, while the next tile is multiplied;
// with `pipe extra tma stages N` tiles that post-ops read come to it before (wgmma_panels.h).
//
// With `pipe 0 cp_async` the producer is a warpgroup, which brings data by asynchronous copies of
// 16, 8 or 4 bytes, for what no tensor map copies whole rows of: runs
// off 16 bytes, or single pixels of channels in blocks. Tensor copies bring the filter.
//
//   wgmma  m64n128k32.s8.s32 m 128 warpgroups 1 1
//   pipe   0 cp_async stages 7
//   pipe   1 tma stages 7
//   role   math pingpong 2
//
// Output indices that move both inputs (groups) are products of their own, slowest among the tiles.
//
// Where both inputs are turned (a filter gradient) both are copied in such panels, of `depth`
// points of the depth, which an im2col map walks as it walks pixels. Few channels lie in panels of
// 64 or 32 bytes. Columns are numbered by panels: those of the channels for each tap, the taps
// being the output indices that move the filter alone; a tile may hold panels of several taps.
// Other output indices are parts of the reduction (nest/flatten/split.h), whole products of their
// own, slowest among the tiles.
//
// With `pipe 1 step_halo tma stages N` neighbouring taps along the lines of the depth read one
// window: the rows of a step and those behind it. A line then has as many points of the depth as any
// tap reads, those past its end zero in the data, so that tap t of a step's row k is row k + t of the
// window, and the columns of one instruction are a panel's channels for all these taps.
//
//   wgmma  m64n192k16.f16.f32 m 64 warpgroups 1 3
//   pipe   0 tma stages 5
//   pipe   1 step_halo tma stages 5
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nest/nest.h"
#include "schedule/mma/core_roles.h"
#include "schedule/mma/filter_taps.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace tilefuse::schedule {

// Sizes that all rows of the core table share (PTX ISA, "Matrix fragments" of mma and wgmma).
constexpr std::int64_t kStepBytes = 32;   // of depth, by one instruction
constexpr std::int64_t kPanelBytes = 128; // of a row of a turned filter's panels, at most
constexpr std::int64_t kCoreRows = 16;    // of one mma
constexpr std::int64_t kCoreColumns = 8;  // likewise
constexpr std::int64_t kGroupRows = 64;   // of one wgmma
constexpr std::int64_t kHalfRows = 8;     // between the two rows of a work-item's results
constexpr std::int64_t kPairs = 2;        // neighbouring columns that a work-item ends with
constexpr std::int64_t kRowItems = 4;     // work-items that have a row of an mma's results

// The row of the core table with which the nest's types are multiplied in steps of 32 bytes of
// depth, or null. `tf32` allows f32 operands to be rounded to tf32.
struct CoreShape {
  std::int64_t columns = 0; // of wgmma; 0: an mma
  bool tf32 = false;
  bool swap_ab = false; // a is the filter, b the data
};
const CoreOp *core_op_for(const nest::Nest &nest, const CoreShape &shape = {});

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

// Neighbouring pixels of a row of the ring.
struct RowBlocks {
  std::int64_t held = 1; // pixels that a row holds
  std::int64_t used = 1; // pixels that one tap reads of them
  std::int64_t step = 1; // distance between those, in pixels
};

// Whether each block of the depth has rows of its own in the ring: where tensor copies bring them.
bool in_panels(const CoreRoles &roles, const Schedule &schedule);
// Whether rows of the ring are neighbouring pixels' blocks; a window's are one pixel's each.
bool in_rows(const CoreRoles &roles, const Schedule &schedule);

// Dimension of the operand that the index moves; null where none is.
const nest::Dim *dim_of(const nest::Operand &operand, IndexId index);
// The pixel index that moves data of channels in blocks by the fewest blocks, if one does.
std::optional<IndexId> neighbour_of(const nest::Nest &nest, const CoreRoles &roles);

// A product of matrices: a nest, a schedule that computes it by a matrix instruction, and what
// follows from the two. Borrows both.
struct Gemm {
  const nest::Nest &nest;
  const Schedule &schedule;
  CoreRoles roles;
  RowBlocks row; // wgmma: of channels in blocks
  CoreTile tile;
  // wgmma: columns of a panel of a turned filter. Beside turned data as few as hold the channels.
  std::int64_t panel = 0;
  StepHalo halo = {}; // of a filter beside turned data
  const Core &core() const { return schedule.core; }
  bool is_wgmma() const { return tilefuse::is_wgmma(*core().op); }
  // Columns of a window of the halo, as an instruction multiplies them: a panel for each of its taps;
  // and its rows.
  std::int64_t halo_columns() const { return halo.taps * panel; }
  std::int64_t halo_rows() const { return tile.depth + halo.reach(); }
  // Neighbouring channels that a work-item stores.
  std::int64_t run() const { return schedule.splits[roles.channel].vec; }
};
// Requires no_core_roles to give no reason, and tiles of at least one point.
Gemm gemm_of(const nest::Nest &nest, const Schedule &schedule);

// Points of the depth's indices, slowest first, as steps number them, and of all.
std::vector<std::int64_t> depth_extents(const Gemm &gemm);
std::int64_t depth_points(const Gemm &gemm);

// Elements of one asynchronous copy of an input: of 16, 8 or 4 bytes by how its strides divide; 0
// where not even 4 do.
std::int64_t core_copy_elems(const Gemm &gemm, int input);

// Whether work-items gather an input, no asynchronous copy bringing it.
bool core_gathers(const Gemm &gemm, int input);

// Whether an input's tile lies turned and its elements are whole words: warps of mma read it by loads
// of these.
bool reads_words(const Gemm &gemm, int input);
// The inputs of wgmma's operands a and b.
int a_input(const Gemm &gemm);
int b_input(const Gemm &gemm);
// wgmma reads words by rows of the depth alone. Whether registers hold its operand a, of an input whose
// words lie turned: work-items load fragments (lower/wgmma/wgmma_fragments.h).
bool a_in_registers(const Gemm &gemm);
// Whether warps that transform turn an input's tile in the ring, which b reads; or either's.
bool turns_in_ring(const Gemm &gemm, int input);
bool turns_in_ring(const Gemm &gemm);
// Whether the latter deal 8 points of the depth as the former's loads meet in no bank: column t + 4 h
// of an instruction is point 2 t + h, of t < 4 and h < 2.
bool deals_points(const Gemm &gemm);

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
// Neighbours that a work-item stores where channels of a filter are dealt as warps turn it in the ring.
constexpr std::int64_t kDealtWords = 4;
struct Exchange {
  std::int64_t columns = 0; // at a time; 0: none
  DType type{};             // of the results there
  bool is_stored = false;   // they are what is stored: post-ops came before, or there are none
  // Elements from a row to the next, so that neither stores nor loads meet in a bank; of a warp.
  std::int64_t row() const { return std::max<std::int64_t>(columns, 16) + 8; }
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
