// SPDX-License-Identifier: Apache-2.0
// What post-ops of wgmma read and find in local memory (`pipe extra`): while a tile is multiplied,
// tensor copies bring the same tile of every operand that lies as results do, its channels next to
// each other (a residual), to one of so many buffers: one, or one for each group that takes tiles
// in turn. The ring, or windows, give up buffers for it. Operands that lie otherwise (a bias by
// channels) are read from memory.
//
//   pipe   extra tma stages 2
//
// A buffer is panels of all rows of the tile, as narrow as the boxes of results (StorePanel), so
// that work-items read their runs at once and meet in no bank; of 64 columns where warps exchange
// results, each of which then takes a row of a panel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/mma/core.h"
#include "schedule/wgmma/tensor_map.h"
#include "target/target.h"

namespace tilefuse::schedule {

// An operand of post-ops, the map that copies panels of its tiles, and these.
struct AheadOperand : TensorMap {
  int extra = 0;
  std::int64_t columns = 0; // of a panel
  std::int64_t elem_bytes = 0;
  std::vector<IndexId> indices; // of the dimensions after the first; none: there is one, of points
};
// Those that can be fetched.
std::vector<AheadOperand> ahead_operands(const Gemm &gemm);

// Why nothing can be fetched ahead, if the schedule says so.
std::optional<std::string> wrong_ahead(const Gemm &gemm);

} // namespace tilefuse::schedule
