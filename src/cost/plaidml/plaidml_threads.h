// SPDX-License-Identifier: Apache-2.0
// Who computes what inside a work-group, and which group computes what. Threads are dealt out to
// the result's indices; the fastest memory gets them first and low bits of the thread number walk
// it ("logical order"). An index of tile T and th threads is held in ceil(T / th) registers:
//
//   co 8, y 2, x 2, n 8 -> 8 accumulators per thread      (256 threads, tile of 2048 results)
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cost/plaidml/plaidml_flat.h"
#include "cost/plaidml/plaidml_layout.h"

namespace tilefuse::cost::plaidml {

// One index of the result.
struct OutputIndex {
  std::size_t index = 0; // of the kernel
  std::int64_t tile = 1;
  std::int64_t stride = 0;
  std::int64_t threads = 1;
  std::int64_t groups = 1; // ceil(range / tile)
  int grid_dim = -1;       // of the three, -1 where one group covers the index
  std::int64_t registers() const { return ceil_div(tile, threads); }
};

// Result indices by rising absolute stride; of equal ones the later index first.
struct OutputPlan {
  std::vector<OutputIndex> indices;
  std::int64_t accumulators = 1; // per thread
  std::int64_t lines = 1;        // memory accesses of full width that write one result tile
  std::array<std::int64_t, 3> grid = {1, 1, 1}; // work-groups
  // Product of the threads of all indices.
  std::int64_t threads() const;
};

// `threads` is a power of two; `line_elems` below 1 counts as 1.
OutputPlan output_plan(const Flat &flat, const Tile &tile, std::int64_t threads,
                       std::int64_t line_elems);

// Threads of one index in a loop.
struct IndexThreads {
  std::string name;
  std::int64_t points = 1; // of the loop
  std::int64_t threads = 1;
};

// How evenly an index splits: 0 tile and threads divide, 1 the tile divides the range, 2 the
// threads divide the tile, 3 neither. Worse ones become outer loops.
int unevenness(std::int64_t range, std::int64_t tile, std::int64_t threads);

// The whole mapping of a kernel.
struct ThreadPlan {
  std::int64_t threads = 1; // per group, all in its first dimension
  OutputPlan output;
  std::vector<IndexThreads>
      reduction; // left-over threads: partial sums, merged through shared memory
  std::int64_t merge_steps = 0;
  std::vector<std::vector<IndexThreads>> loads; // per input, fastest threads first
  std::vector<std::size_t> loop_order;          // positions in output.indices, outermost first
};

ThreadPlan thread_plan(const Flat &flat, const Tile &tile, const Settings &settings);

} // namespace tilefuse::cost::plaidml
