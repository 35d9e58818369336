// SPDX-License-Identifier: Apache-2.0
// What PlaidML v0 knew of a device: the `[plaidml]` table of a row of devices/. Only cost/plaidml
// reads it; no kernel depends on it.
//
//   [plaidml]
//   threads = 256               # per work-group at most; a power of two
//   mem_width = 32              # bytes of one memory access; a power of two
//   max_mem = 18432             # bytes of shared memory
//   max_regs = 18432            # bytes of accumulators of a work-group
//   goal_groups = 20            # work-groups that fill the device
//   goal_flops_per_byte = 20
//   vec_size = 1                # optional: widest vector, elements; a power of two
//   use_global = false          # optional: inputs are not staged in shared memory
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilefuse {

struct PlaidmlSettings {
  std::int64_t threads = 1;
  std::int64_t mem_width = 64;
  std::int64_t max_mem = 1024;
  std::int64_t max_regs = 16384;
  std::int64_t goal_groups = 1;
  std::int64_t goal_flops_per_byte = 50;
  std::int64_t vec_size = 1;
  bool use_global = false;
  friend bool operator==(const PlaidmlSettings &, const PlaidmlSettings &) = default;
};

// The whole numbers of the table, in the order above, with what each may be.
struct PlaidmlField {
  std::string_view key;
  std::int64_t PlaidmlSettings::*value;
  std::int64_t lowest;
  std::int64_t highest;
  bool is_power_of_two;
  bool is_optional;
  // "a power of two from 1 to 512"
  std::string_view need;
  bool allows(std::int64_t number) const;
};
std::span<const PlaidmlField> plaidml_fields();

} // namespace tilefuse
