// SPDX-License-Identifier: Apache-2.0
// Which banks of local memory a kernel asks for, as the simulator sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilefuse::kernel {

// One phase of an access to Local memory as a warp of the first block executed it first: how many
// distinct words it asks of each bank. The most of them are its wavefronts.
struct BankPhase {
  std::size_t warp = 0;
  std::size_t phase = 0;            // within the execution
  std::vector<std::uint16_t> words; // by bank
  friend bool operator==(const BankPhase &, const BankPhase &) = default;
};

// By access, as Counts numbers them; phases in the order of execution.
using BankTrace = std::vector<std::vector<BankPhase>>;

} // namespace tilefuse::kernel
