// SPDX-License-Identifier: Apache-2.0
// What one request of a warp costs: wavefronts of banked memory and sectors of global memory. Pure
// functions of the byte addresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/bank_phases.h"
#include "kernel/counts.h"

namespace tilefuse::kernel::simulation {

constexpr std::int64_t kInactive = -1;

// One request: an access of `bytes` (1 to 16, a power of two) at the address of each work-item of a
// warp, or kInactive.
struct Request {
  std::int64_t bytes = 4;
  std::span<const std::int64_t> addresses;
};

// Adds the phases of a request to those from `phases[first]` on, which grows as needed; gives the
// number of phases. `banks` of 4 bytes.
std::size_t add_phases(const Request &request, std::int64_t banks, std::size_t first,
                       std::vector<PhaseCounts> &phases);

// Adds what the same phases ask of banks; `first` has the warp and the number of the first.
void trace_phases(const Request &request, std::int64_t banks, const BankPhase &first,
                  std::vector<BankPhase> &trace);

// Most words of one bank among the accesses: at least 1 if any is active, else 0.
std::int64_t wavefronts(const Request &phase, std::int64_t banks);

// The distinct sectors that a request touches, ascending, and how many its distinct bytes fill.
struct Sectors {
  std::vector<std::int64_t> touched; // numbers: address / sector_bytes
  std::int64_t needed = 0;
};
void find_sectors(const Request &request, std::int64_t sector_bytes, Sectors &result);

} // namespace tilefuse::kernel::simulation
