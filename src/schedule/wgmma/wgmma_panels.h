// SPDX-License-Identifier: Apache-2.0
// Results and operands of wgmma's post-ops as matrices of points, and the panels of their tiles in
// local memory: rows that tensor copies leave swizzled, in which work-items that have runs of
// neighbouring channels meet in no bank.
//
// With `store tma` results leave so. With `pipe extra` what post-ops read comes so: while a tile is
// multiplied, tensor copies bring the same tile of every operand that lies as results do, its
// channels next to each other (a residual), to the next of so many buffers: up to two for each group
// that takes tiles in turn. The ring, or windows, give up buffers for it. Operands that lie
// otherwise (a bias by channels) are read from memory.
//
//   store  tma
//   pipe   extra tma stages 2
//
// A buffer is panels of all rows of the tile, as narrow as the boxes of results (StorePanel), so
// that work-items read their runs at once and meet in no bank; of 64 columns where warps exchange
// results, each of which then takes a row of a panel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"
#include "schedule/wgmma/wgmma_tiles.h"

namespace tilefuse::schedule {

// With `store tma` the result lies as one matrix of points, or as an image whose pixels an
// im2col map walks (those of a class of a strided gradient), and a warp's results leave in boxes of
// kExchangeRows rows of a panel of columns (half as many where blocks of a cluster each store one of the
// rows 8 apart): those of one run of each of 4 work-items, or of 128 bytes
// where runs are pairs. A warp has some buffers for them, which divide those of a tile.
struct StorePanel {
  std::int64_t rows = kExchangeRows;
  std::int64_t columns = 0;
  std::int64_t elem_bytes = 0;
  std::int64_t boxes = 1; // buffers of a warp
  std::int64_t row_bytes() const { return columns * elem_bytes; }
  std::int64_t elems() const { return rows * columns; }
};
StorePanel store_panel(const Gemm &gemm);

// The map by which they do: of a matrix, or im2col with a pixel index in each dimension after the
// first.
TileMap result_map(const Gemm &gemm);

// An operand of post-ops, the map that copies panels of its tiles, and these.
struct AheadOperand : TileMap {
  int extra = 0;
  std::int64_t columns = 0; // of a panel
  std::int64_t elem_bytes = 0;
};
// Those that can be fetched.
std::vector<AheadOperand> ahead_operands(const Gemm &gemm);

// Why results cannot leave in boxes, or nothing can be fetched ahead, if the schedule says so.
std::optional<std::string> wrong_store(const Gemm &gemm);
std::optional<std::string> wrong_ahead(const Gemm &gemm);

} // namespace tilefuse::schedule
