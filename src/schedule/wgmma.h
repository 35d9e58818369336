// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on `wgmma`: what a schedule with a core instruction of four warps means.
//
// Roles, tiles and steps are those of schedule/core.h; what differs is who does what. A producer
// fills the ring by tensor copies, `warps A B` are groups of four warps that multiply from it and
// store: A x B tiles of a block's. Blocks are `blocks` in number, each takes every so many-th tile;
// columns of tiles change fastest, so that blocks that run together share rows.
//
//   core m64n128k16.f16.f32 rows 128 warps 2 1 ring 6 blocks 132
//
// With `turns 2` two groups take whole tiles in turn: one multiplies while the other stores.
//
// With `cluster R C` R x C blocks run together on as many neighbouring tiles, R of rows by C of
// columns. Those of one column share the filter's tile: each copies an R-th of it, to all of them;
// those of one row share the data's likewise. A buffer is filled again when all that read what this
// block copies have let it go. Tiles that fill up the last clusters are computed and not stored.
//
// Data is copied as one matrix of points where it lies as one, else by an im2col map: points of the
// pixel indices in the order of the schedule, a tap as an offset to them. A straight filter is
// copied with its rows dealt: row 8j + 2t + b of a tile holds channel 4v * (j / (v / 2)) + v * t +
// 2 * (j % (v / 2)) + b for v = `vec`, so that a work-item ends with v neighbouring channels;
// where those are no neighbours in the result (NCHW), 8 work-items store neighbouring pixels of
// each. A turned filter is copied in panels of 128 bytes of channels; its vec is 2, or 8 where each
// warp exchanges 16 rows of a panel's columns at a time through local memory.
//
// With tiles of the pixel indices (`tile n:8 y:4 x:4`) a tile's pixels are a box of them, the last
// of the schedule fastest, which a tiled map copies, and not an im2col map. So are those of
// channels in blocks (NCHW32), whose boxes hold `x` neighbouring pixels in a row of the ring, which
// are the fastest of the tile: a step's blocks are panels of such rows. The instruction reads a
// pixel's 32 bytes a row, so that copies exchange chunks of more bits than it does: row i of the
// tile is pixel i ^ (i / 8 % x). Where `x` steps over pixels a row holds those between as well.
//
// With `parts P` the blocks of a cluster take parts of a tile's steps (schedule/wgmma_parts.h).
//
// With `window N` a tile's pixels are a box of them, 8 of the fastest index, and the data's ring
// holds N windows: all pixels that any tap of the box reads, copied once for each step of the
// depth. A tap is where the instruction starts in the window, 8 pixels a group of rows. The walked
// indices are then walked inside the depth, and `ring` counts buffers of the filter alone. With
// `keep_filter` too these hold all steps of all channels and are filled once for all of a block's
// tiles.
//
//   core m64n64k16.f16.f32 rows 256 warps 2 1 ring 9 blocks 132 window 3 keep_filter
//
// With `swapped` the instruction's rows are channels, in tiles of multiples of 64, and its columns
// points: 49 or 196 of them fill 56 or 200 columns. Channels are dealt in pairs, row 16j + 8b + g
// of a tile holds channel 16j + 2g + b, so that 8 work-items store whole sectors; `vec` is 2, or 1
// where they are not dealt. A turned filter is dealt where it is kept, once it has come.
//
// With `tensor_store` results leave as boxes of local memory, while the next tile is multiplied;
// with `ahead N` tiles that post-ops read come to it before (schedule/wgmma_ahead.h).
//
// With `gather` the producer is a group of four warps, which brings data by asynchronous copies of
// 16, 8 or 4 bytes, as of schedule/core.h, for what no tensor map copies whole rows of: runs off 16
// bytes, or single pixels of channels in blocks. Tensor copies bring the filter.
//
//   core m64n128k32.i8.i32 rows 128 warps 1 1 ring 7 blocks 132 turns 2 gather
//
// Output indices that move both inputs (groups) are products of their own, slowest among the tiles.
//
// Where both inputs are turned (a filter gradient) both are copied in such panels, of `depth`
// points of the depth, which an im2col map walks as it walks pixels. Columns are numbered by
// panels: those of the channels for each tap, the taps being the output indices that move the
// filter alone; a tile may hold panels of several taps. Other output indices are parts of the
// reduction (nest/split.h), whole products of their own, slowest among the tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/core.h"

namespace tilefuse::schedule {

constexpr int kGroupItems = 128;         // work-items of four warps
constexpr std::int64_t kBoxAlign = 1024; // bytes, of what a tensor copy fills

// How columns of tiles are numbered.
constexpr std::int64_t kPanelBytes = 128;
struct ColumnPlan {
  std::vector<int> taps;    // both turned: output indices that move the filter alone, slowest first
  std::vector<int> parts;   // the other output indices of the grid
  std::int64_t panels = 1;  // both turned: of the channels
  std::int64_t columns = 0; // in all, with those that pad panels
  std::int64_t products = 1; // points of all parts
};
ColumnPlan column_plan(const nest::Nest &nest, const Schedule &schedule);

// How copies of an input's tiles address it; dimensions innermost first.
struct DataMap {
  std::string wrong; // why there is none; the rest holds if empty
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims, strides, lower, upper, steps; // see kernel::TensorMap
  std::vector<int> pixels;        // im2col: the index of each dimension after the first, -1: none
  std::vector<nest::Linear> taps; // im2col: the offset in each dimension but the first and the last
  std::vector<nest::Linear> parts; // by parts: added to im2col's last coordinate; a matrix's third…
  nest::Linear first;              // im2col: added to the first coordinate
  std::vector<std::int64_t> box; // boxes of pixels: elements of each dimension, `steps` apart, and
  std::vector<nest::Linear> place; // the coordinate of its first in each
  nest::Linear row; // windows: where a pixel of the box lies for a tap, in rows of local memory
  bool is_im2col() const { return !lower.empty(); }
};
// Of data that warps gather: none.
DataMap data_map(const nest::Nest &nest, const Schedule &schedule);
// Pixels of a tile as a box: indices slowest first, and how many points of each.
struct PixelBox {
  std::vector<int> indices;
  std::vector<std::int64_t> sizes;
};
bool has_box(const nest::Nest &nest, const Schedule &schedule);
PixelBox pixel_box(const nest::Nest &nest, const Schedule &schedule);
DataMap box_map(const nest::Nest &nest, const Schedule &schedule);
// Whether each block of the depth has rows of its own in the ring: where tensor copies bring them.
bool in_panels(const CoreRoles &roles, const Schedule &schedule);
// Of channels in blocks: the neighbouring pixels of a row of the ring, and those that are used,
// each so many from the next.
struct RowBlocks {
  std::int64_t held = 1;
  std::int64_t used = 1;
  std::int64_t step = 1;
};
RowBlocks row_blocks(const nest::Nest &nest, const Schedule &schedule);
// Which of a row's pixels a tap reads first is this, by the remainder of `step`, so that copies
// start where pixels do that none steps over; nothing where it is always the first.
std::optional<nest::Linear> first_of_row(const nest::Nest &nest, const Schedule &schedule);
// Of a row of data in the ring as copies leave it: the depth's, or that of neighbouring pixels'
// blocks; and from a pixel to the next as the instruction reads them.
std::int64_t ring_row_bytes(const nest::Nest &nest, const Schedule &schedule);
std::int64_t pixel_bytes(const nest::Nest &nest, const Schedule &schedule);
// With `window`: rows that are copied to one, for each block where they have rows of their own;
// its elements in local memory, those of each block whole units of alignment; pixels that one
// instruction multiplies; and rows from 8 of them to the next.
std::int64_t window_rows(const nest::Nest &nest, const Schedule &schedule);
std::int64_t window_elems(const nest::Nest &nest, const Schedule &schedule);
// Its pixels as a box, where each of its dimensions is a pixel index's; and what is added to such
// an index by the lowest tap.
PixelBox window_box(const nest::Nest &nest, const Schedule &schedule);
std::int64_t lowest_tap(const nest::Nest &nest, const Schedule &schedule, int pixel);
std::int64_t window_unit(const Schedule &schedule);
std::int64_t window_lines(const nest::Nest &nest, const Schedule &schedule);
// Swapped: whether the channels of a kept, turned filter are dealt in local memory.
bool deals_kept_filter(const nest::Nest &nest, const Schedule &schedule);
constexpr std::int64_t kWindowPixels = 8; // of the fastest index
// Where the warps that copy windows map them too (core_feeds.h): those that are copied before the
// next one is mapped.
std::int64_t windows_ahead(const Schedule &schedule);
// Why there is no such window; nothing where there is, or none is asked for.
std::optional<std::string> wrong_window(const nest::Nest &nest, const Schedule &schedule,
                                        const CoreRoles &roles);
// With `gather`: steps whose copies are under way behind the one that starts.
int gathered_ahead(const Schedule &schedule);
// Why warps cannot gather the data; nothing where they can, or are not asked to.
std::optional<std::string> wrong_gather(const nest::Nest &nest, const Schedule &schedule,
                                        const CoreRoles &roles);
// Of a filter beside data that is turned as well.
DataMap turned_filter_map(const nest::Nest &nest, const Schedule &schedule);

// The same for the filter beside straight data: the first coordinate is a linear function of
// reduced indices, and of the channel if the filter is turned; the last is in units of `unit`
// channels, or of the depth if turned.
// With clusters the box is what one block of those that share the filter copies.
struct FilterMap {
  std::string wrong;
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims, strides, box;
  nest::Linear first;
  nest::Linear parts; // channels before a part's first
  std::int64_t unit = 1;
  std::int64_t panels = 1; // boxes of a tile
};
FilterMap filter_map(const nest::Nest &nest, const Schedule &schedule);

// Registers of a work-item by role; 0: as the launch gives them.
struct RegisterPlan {
  int producer = 0;
  int consumer = 0;
  int mapper = 0;
  int launch = 0; // what the launch gives
};
// `copies_ahead`: the producer copies a fixed filter before its steps.
RegisterPlan register_plan(const Schedule &schedule, bool copies_ahead = false);
// Of a work-item that multiplies, besides its accumulators.
constexpr std::int64_t kSpareRegisters = 40;

// Results that a warp exchanges: rows and columns at a time, elements of a row of them in local
// memory (so that neither stores nor loads meet in a bank), and the type they have there.
constexpr std::int64_t kPanelRows = 16;
constexpr std::int64_t kPanelColumns = 64;
constexpr std::int64_t kPanelRow = 72;
constexpr std::int64_t kPanelVec = 8;
bool exchanges(const nest::Nest &nest, const Schedule &schedule);
DType exchanged_type(const nest::Nest &nest);

// Tiles of rows and of columns, of so many products, and of clusters.
struct TileGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t products = 1;
  std::int64_t cluster_rows = 0; // rows / blocks of a cluster, rounded up
  std::int64_t cluster_columns = 0;
  std::int64_t tiles() const { return products * rows * columns; }
  std::int64_t clusters() const { return products * cluster_rows * cluster_columns; }
};
TileGrid tile_grid(const nest::Nest &nest, const Schedule &schedule);
// Warps that multiply and store.
std::int64_t storing_warps(const Schedule &schedule);
// Of the ring, or of both where windows have one of their own; and of all.
std::int64_t ring_local_bytes(const nest::Nest &nest, const Schedule &schedule);
std::int64_t wgmma_local_bytes(const nest::Nest &nest, const Schedule &schedule);

// The row of the core table with so many columns for the nest's types, or null.
const CoreOp *wgmma_op_for(const nest::Nest &nest, std::int64_t columns, bool tf32);

// Why the schedule cannot run, beyond what every core instruction asks for.
std::optional<std::string> wrong_wgmma(const nest::Nest &nest, const Schedule &schedule,
                                       const Target &target);

} // namespace tilefuse::schedule
