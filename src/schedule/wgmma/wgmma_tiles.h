// SPDX-License-Identifier: Apache-2.0
// Tiles of a kernel with wgmma: how columns are numbered, how many tiles there are, who stores their
// results (schedule/mma/core.h), and what blocks of a cluster take of one.
//
// Blocks of a cluster that take parts of one tile's steps (`order split_k P`; schedule/mma/core.h):
// block p of P those from p * steps / P on. Each writes its accumulators to its local memory; then
// each adds up one slice of them from all, in the order of the parts, and stores it. What one block
// computes by itself comes out in the same launch, and nothing passes through global memory.
//
//   wgmma  m64n128k16.f16.f32 m 128 warpgroups 2 1
//   order  split_k 4
//
// A slice is a run of the instruction's columns, and one of the two rows, 8 apart, that a work-item
// has in 16, but where it has channels in pairs (swapped).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

constexpr int kGroupItems = 128; // work-items of four warps
constexpr std::int64_t kGroupWarps = kGroupItems / kCoreLanes;
constexpr std::int64_t kBoxAlign = 1024; // bytes, of what a tensor copy fills

// How columns of tiles are numbered.
struct ColumnPlan {
  std::vector<IndexId>
      taps;                // both turned: output indices that move the filter alone, slowest first
  std::int64_t beside = 1; // points of the last tap, neighbours in a panel of the channels
  std::vector<IndexId> parts; // the other output indices of the grid
  std::int64_t panels = 1;    // both turned: of the channels
  std::int64_t columns = 0;   // in all, with those that pad panels
  std::int64_t products = 1;  // points of all parts
};
ColumnPlan column_plan(const Gemm &gemm);

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

// Into how many the accumulators are cut: the rows 8 apart (1 or 2), and the columns.
struct PartSlices {
  std::int64_t halves = 1;
  std::int64_t columns = 1;
};
PartSlices part_slices(const Schedule &schedule);

// Steps of the block that has most.
std::int64_t most_steps(const Gemm &gemm);

// Columns of an instruction that are stored together: slices hold whole runs of them.
std::int64_t joined_columns(const Gemm &gemm);

// Clusters that run at once: a larger one leaves those multiprocessors idle that are left over in
// each group of them, in which all of a cluster lie (an H200 ran 104 and not 128 blocks by fours).
std::int64_t clusters_at_once(const Target &target, std::int64_t blocks);

} // namespace tilefuse::schedule
