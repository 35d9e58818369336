// SPDX-License-Identifier: Apache-2.0
// What PlaidML v0 knew of a device: a file of devices/plaidml/, whose name is the device's.
//
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
#include <optional>
#include <string>
#include <string_view>

#include "target/target.h"

namespace tilefuse::cost::plaidml {

struct Settings {
  std::int64_t threads = 1;
  std::int64_t mem_width = 64;
  std::int64_t max_mem = 1024;
  std::int64_t max_regs = 16384;
  std::int64_t goal_groups = 1;
  std::int64_t goal_flops_per_byte = 50;
  std::int64_t vec_size = 1;
  bool use_global = false;
  friend bool operator==(const Settings &, const Settings &) = default;
};

// The settings of the row devices/plaidml/`name`.toml; nothing where there is none.
std::optional<Settings> stock_settings(const std::string &name);
// Those in a file's text. A mistake in it is Error{Io} with its line.
Settings parse_settings(std::string_view text, const std::string &file);

// What PlaidML took for a device it did not know: one thread, a cache line, all local memory,
// 16 KiB of accumulators, 4 groups per unit, 50 operations per byte.
Settings default_settings(const Target &target);

} // namespace tilefuse::cost::plaidml
