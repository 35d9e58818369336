// SPDX-License-Identifier: Apache-2.0
// Tiles of a kernel with wgmma: how columns are numbered, how many tiles there are, and who stores
// their results (wgmma.h).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

constexpr int kGroupItems = 128;         // work-items of four warps
constexpr std::int64_t kBoxAlign = 1024; // bytes, of what a tensor copy fills

// How columns of tiles are numbered.
constexpr std::int64_t kPanelBytes = 128;
struct ColumnPlan {
  std::vector<IndexId>
      taps; // both turned: output indices that move the filter alone, slowest first
  std::vector<IndexId> parts; // the other output indices of the grid
  std::int64_t panels = 1;    // both turned: of the channels
  std::int64_t columns = 0;   // in all, with those that pad panels
  std::int64_t products = 1;  // points of all parts
};
ColumnPlan column_plan(const Gemm &gemm);

// Results that a warp exchanges: rows and columns at a time, elements of a row of them in local
// memory (so that neither stores nor loads meet in a bank), and the type they have there.
constexpr std::int64_t kPanelRows = 16;
constexpr std::int64_t kPanelColumns = 64;
constexpr std::int64_t kPanelRow = 72;
constexpr std::int64_t kPanelVec = 8;
bool exchanges(const Gemm &gemm);
DType exchanged_type(const nest::Nest &nest);

// Swapped: whether the channels of a kept, turned filter are dealt in local memory.
bool deals_kept_filter(const Gemm &gemm);
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
TileGrid tile_grid(const Gemm &gemm);
// Warps that multiply and store.
std::int64_t storing_warps(const Schedule &schedule);
// The row of the core table with so many columns for the nest's types, or null.
struct WgmmaShape {
  std::int64_t columns = 0;
  bool tf32 = false;
  bool swap_ab = false; // a is the filter, b the data
};
const CoreOp *wgmma_op_for(const nest::Nest &nest, const WgmmaShape &shape);

} // namespace tilefuse::schedule
