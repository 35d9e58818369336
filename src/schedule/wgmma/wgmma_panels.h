// SPDX-License-Identifier: Apache-2.0
// Results and operands of wgmma's post-ops as matrices of points, and the panels of their tiles in
// local memory: rows that tensor copies leave swizzled, in which work-items that have runs of
// neighbouring channels meet in no bank.
//
// With `store tma` results leave so. With `pipe extra` what post-ops read comes so: tensor copies
// bring every operand that lies as results do, its channels next to each other (a residual), by
// epilogue tiles (CUTLASS's EpilogueTile and load pipeline): all rows of a tile, and of each
// group's columns the next `epi_n`, or all. They pass through a ring of so many buffers, filled
// while the tile is multiplied and the one before is stored; who stores waits for each epilogue
// tile and lets go of it. The ring of the inputs, or windows, give up buffers for it. Operands that
// lie otherwise (a bias by channels) are read from memory.
//
//   store  tma
//   pipe   extra tma stages 4 epi_n 32
//
// An epilogue tile is panels of all rows of the tile, as narrow as the boxes of results
// (StorePanel), so that work-items read their runs at once and meet in no bank; of 64 columns where
// warps exchange results, each of which then takes a row of a panel.
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

// The ring through which they come, by epilogue tiles.
struct AheadRing {
  std::int64_t columns = 0; // of each group's that an epilogue tile has
  std::int64_t pieces = 1;  // epilogue tiles of a tile
  std::int64_t stages = 0;  // buffers
  std::int64_t elems = 0;   // of a buffer, of each operand
  // Mbarriers that say that one has come: whole rounds of the buffers, and as many as the tiles
  // that groups take in turn have pieces, so that a group that waits for the next phase of one has
  // seen the phase before.
  std::int64_t full = 0;
};
AheadRing ahead_ring(const Gemm &gemm);
// Most buffers: of two tiles for each group that takes them in turn.
std::int64_t most_ahead(const Gemm &gemm);

// Why results cannot leave in boxes, or nothing can be fetched ahead, if the schedule says so.
std::optional<std::string> wrong_store(const Gemm &gemm);
std::optional<std::string> wrong_ahead(const Gemm &gemm);

} // namespace tilefuse::schedule
