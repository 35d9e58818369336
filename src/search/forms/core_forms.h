// SPDX-License-Identifier: Apache-2.0
// Implicit GEMM on matrix instructions at the sizes worth trying: `mma`; `mma_tf32`, which rounds
// f32 operands to tf32 and is therefore never chosen unless asked for by name; and `mma_nchw32`,
// the kernel of MegEngine's article for channels in blocks of 32 bytes.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/mma/core.h"
#include "search/forms/named_schedule.h"

namespace tilefuse::search {

// Of a block's tile: warps, bytes of a step's depth, buffers of the ring.
struct CoreSizes {
  std::int64_t rows = 0, columns = 0, warp_rows = 1, warp_columns = 1;
  std::int64_t row_bytes = 64;
  int ring = 2;
};

// Puts output indices in the order of the result and the depth innermost; a depth of several
// indices in the order of memory. Requires no_core_roles to give no reason.
void order_core(const nest::Nest &nest, schedule::Schedule &schedule);

// The form at these sizes; not checked for legality. Requires no_core_roles to give no reason.
schedule::Schedule core_form(const nest::Nest &nest, const CoreOp &op, std::string_view name,
                             const CoreSizes &sizes);

// Rows wider than the depth fills copy nothing but padding, and tiles wider than there are channels
// compute nothing else.
bool wastes(const schedule::Gemm &gemm);

// Legal schedules, larger tiles first.
std::vector<schedule::Schedule> core_schedules(const nest::Nest &nest, const Target &target,
                                               bool tf32);

bool is_core_algorithm(std::string_view name);
// The largest tile that still gives every multiprocessor a block, or the one with the most blocks.
NamedSchedule named_core_schedule(std::string_view name, const nest::Nest &nest,
                                  const Target &target);

} // namespace tilefuse::search
