// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on `wgmma`: what a schedule with an instruction of a warpgroup means.
//
// Roles, tiles and steps are those of schedule/mma/core.h; what differs is who does what. A
// producer fills the pipes by tensor copies, `warpgroups A B` multiply from them and store: A x B
// tiles of a block's. With `order persistent N` N blocks take every N-th tile; columns of tiles
// change fastest, so that blocks that run together share rows, or with `raster m` rows, so that
// they share columns.
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
// warp exchanges 16 rows of a panel's columns at a time through local memory.
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
// 16, 8 or 4 bytes, as of schedule/mma/core.h, for what no tensor map copies whole rows of: runs
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
// points of the depth, which an im2col map walks as it walks pixels. Columns are numbered by
// panels: those of the channels for each tap, the taps being the output indices that move the
// filter alone; a tile may hold panels of several taps. Other output indices are parts of the
// reduction (nest/flatten/split.h), whole products of their own, slowest among the tiles.
#pragma once

#include <optional>
#include <string>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Why blocks cannot take tiles in this order: how many share what in a cluster.
std::optional<std::string> wrong_order(const Gemm &gemm);
// Why tensor copies cannot bring the tiles of an input.
std::optional<std::string> wrong_tensor_copies(const Gemm &gemm);

} // namespace tilefuse::schedule
