// SPDX-License-Identifier: Apache-2.0
// Which banks of local memory the phases of accesses ask for, as the simulator traced them: phases
// of warps that ask each bank for as many words are one row.
//
//   s[lane * 2]: 2 wavefronts in 1 phases, 1 conflicts
//     warps 0-1, phase 0   2.2.2.2.2.2.2.2.2.2.2.2.2.2.2.2.   2 wavefronts
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernel/bank_phases.h"
#include "kernel/counts.h"

namespace tilefuse::report {

struct BankPattern {
  std::vector<std::uint16_t> words; // by bank
  std::string phases;               // "warps 0-7, phase 2"
  std::int64_t wavefronts = 0;      // of each of these phases
  friend bool operator==(const BankPattern &, const BankPattern &) = default;
};

struct BankAccess {
  std::string text;                  // "s[lane * 2]"
  kernel::PhaseCounts all;           // of all executions
  std::vector<BankPattern> patterns; // in the order in which they were met
};

// Those of local memory that were traced.
std::vector<BankAccess> bank_accesses(const kernel::Counts &counts, const kernel::BankTrace &trace);

// "4 wavefronts in 2 phases, 2 conflicts"
std::string to_text(const kernel::PhaseCounts &all);
// A line for each access and each of its patterns; '+': a bank is asked for more than 9 words.
std::string to_text(std::span<const BankAccess> accesses);

} // namespace tilefuse::report
