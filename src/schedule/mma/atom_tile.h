// SPDX-License-Identifier: Apache-2.0
// Can a matrix instruction read tiles of these sizes and layouts, and can its results be stored as
// the schedule says? What mma and wgmma ask of a tile differs in numbers alone: points of a warp or
// warpgroup, bytes of a row in local memory, neighbouring channels that a work-item stores.
#pragma once

#include <optional>
#include <string>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Why the instruction cannot compute the tile; nothing when it can.
std::optional<std::string> wrong_atom_tile(const Gemm &gemm);

} // namespace tilefuse::schedule
