// SPDX-License-Identifier: Apache-2.0
// Data that warps bring by asynchronous copies, where no tensor map copies whole rows (wgmma.h).
#pragma once

#include <optional>
#include <string>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Why warps cannot gather the data; nothing where they can, or are not asked to.
std::optional<std::string> wrong_gather(const Gemm &gemm);

} // namespace tilefuse::schedule
