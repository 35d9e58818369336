// SPDX-License-Identifier: Apache-2.0
// Numbers of schedule texts, within what a schedule may say at all. Each throws Error{Limit}, or
// Error{Syntax} where there is none.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/scanner.h"

namespace tilefuse::schedule {

// Buffers of a pipe: 1 to 65536.
int parse_stages(Scanner &scanner);
// A count of `what`: 0 to 65536.
int parse_count(Scanner &scanner, std::string_view what);
// Elements copied at once: 1 to 65536.
int parse_width(Scanner &scanner);
// Blocks of a cluster one way: 1 to 256.
std::int64_t parse_cluster(Scanner &scanner);
// Registers of a work-item: 0 to 255.
int parse_registers(Scanner &scanner);

} // namespace tilefuse::schedule
