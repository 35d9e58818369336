// SPDX-License-Identifier: Apache-2.0
// Windows of a step's rows that serve neighbouring taps of a filter beside turned data
// (schedule/mma/core.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedule/mma/core.h"

namespace tilefuse::schedule {

// Columns of a window, as an instruction multiplies them: a panel for each of its taps. Its rows, and
// elements in local memory, whole units of alignment.
std::int64_t halo_columns(const Gemm &gemm);
std::int64_t halo_rows(const Gemm &gemm);
std::int64_t halo_elems(const Gemm &gemm);

// Why there is no such window; nothing where there is, or none is asked for.
std::optional<std::string> wrong_step_halo(const Gemm &gemm);

} // namespace tilefuse::schedule
