// SPDX-License-Identifier: Apache-2.0
// The ten statistics of a tile and its score, from which PlaidML v0 chose. Notation: index i has
// range R_i and tile T_i; M is the width of a memory access in bytes.
//
//   to  prod R_i * (post-ops + 2 where there is a contraction) * vector     operations
//   wg  prod over result indices of ceil(R_i / T_i)                         work-groups
//   il  prod over reduced indices of ceil(R_i / T_i)                        inner loops of a group
//   sm  shared memory of the inputs, and to merge partial sums              bytes
//   or  accumulators of the whole group                                     bytes
//   mr  (loads of the inputs) * M + result lines * bytes per post-op input  bytes per inner loop
//   mw  result lines * M * results                                          bytes per group
//   op  min(threads, prod T_i)                                              threads that compute
//   rp  doublings of the result tile to reach op                            merge steps
//   tu  max(op, threads that results are dealt to)                          threads used
//
// flops_per_byte = to / (wg * (il * mr + mw)); the score is the product of its share of the goal,
// of the share of busy groups and of threads, each at most 1; -1 where memory or registers do not
// suffice.
#pragma once

#include <string>

#include "cost/plaidml/plaidml_flat.h"

namespace tilefuse::cost::plaidml {

struct Stats {
  std::int64_t true_ops = 0;
  std::int64_t work_groups = 0;
  std::int64_t inner_loops = 0;
  std::int64_t shared_mem = 0;
  std::int64_t out_regs = 0;
  std::int64_t mem_read = 0;
  std::int64_t mem_write = 0;
  std::int64_t operations = 0;
  std::int64_t rollups = 0;
  std::int64_t threads_used = 0;
  friend bool operator==(const Stats &, const Stats &) = default;
};

enum class Verdict { Fits, OverMemory, OverRegs };

struct Score {
  Verdict verdict = Verdict::Fits;
  double flops_per_byte = 0;
  double occupancy = 0;
  double roof_ratio = 0;
  double occ_ratio = 0;
  double thread_ratio = 0;
  double score = -1;
};

// Error{Limit} where an access of settings.mem_width bytes does not hold one element of an input.
Stats statistics(const Flat &flat, const Tile &tile, const Settings &settings);

// Memory is tested before registers.
Score score(const Stats &stats, const Settings &settings);

// The lines of PlaidML's log for one tile, figures as C++ streams print them.
std::string log_text(const Tile &tile, const Stats &stats, const Score &score);

// "[8, 32, 2, 3, 16, 2, 2]"
std::string to_text(const Tile &tile);

} // namespace tilefuse::cost::plaidml
