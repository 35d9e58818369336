// SPDX-License-Identifier: Apache-2.0
// Collects Counts while warps run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/index.h"
#include "kernel/bank_phases.h"
#include "kernel/counts.h"
#include "kernel/simulation/program.h"
#include "kernel/simulation/traffic.h"

namespace tilefuse::kernel::simulation {

// One execution of an access by a warp: for each work-item its first element, or kInactive, and how
// many of `lanes` elements `stride` apart it touches.
struct WarpAccess {
  std::span<const std::int64_t> first;
  std::span<const int> count;
  int lanes = 1;
  std::int64_t stride = 1;
};

class Recorder {
public:
  // `banks` of 4 bytes, 0: none. `trace` may be null.
  Recorder(const Kernel &kernel, const Program &program, std::int64_t banks,
           std::int64_t sector_bytes, BankTrace *trace);

  void start_cluster();
  // What follows is done by a warp of the cluster's block of a rank.
  void enter(std::size_t rank, std::size_t warp) {
    rank_ = rank;
    warp_ = warp;
  }
  void access(int number, const WarpAccess &access);
  // One execution of ldmatrix: the first element of each of 8 rows per tile.
  void matrix(int number, std::span<const std::int64_t> rows);
  void operation(int op, int items) {
    ++executed_[at(op)];
    items_[at(op)] += items;
  }
  void barrier() { ++barriers_; }

  // All that was collected; live registers and local bytes are left to the caller.
  Counts take();

private:
  struct Footprint {
    std::vector<std::int64_t> last; // (sector, rank): the last cluster that touched it, from 1
    std::int64_t of_blocks = 0;     // sectors
    std::int64_t of_grid = 0;
  };

  // One request: pieces of `bytes` at byte addresses.
  void request(AccessCounts &counts, std::int64_t bytes, std::size_t &phase);
  void note_banks(AccessCounts &counts, std::int64_t bytes, std::size_t &phase);
  // Where the phases of this execution are kept: of a warp's first, in the first block; else null.
  std::vector<BankPhase> *trace_of(int number);
  void note_sectors(AccessCounts &counts, std::int64_t bytes);
  std::int64_t piece_bytes(const WarpAccess &access, std::int64_t elem_bytes) const;
  void add_instructions(Counts &counts) const;
  void add_buffers(Counts &counts) const;

  const Kernel &kernel_;
  const Program &program_;
  std::int64_t banks_;
  std::int64_t sector_bytes_;
  std::vector<AccessCounts> accesses_;
  std::vector<Footprint> footprints_;  // by BufferId
  std::vector<std::int64_t> executed_; // by number of the operation
  std::vector<std::int64_t> items_;
  std::vector<std::int64_t> addresses_; // of one request
  Sectors sectors_;
  BankTrace *trace_;
  std::vector<std::uint64_t> seen_;          // by access: warps that executed it, a bit each
  std::vector<BankPhase> *traced_ = nullptr; // of this execution
  std::size_t rank_ = 0;
  std::size_t warp_ = 0; // of its block
  std::int64_t clusters_ = 0;
  std::int64_t barriers_ = 0;
};

} // namespace tilefuse::kernel::simulation
