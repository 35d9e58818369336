// SPDX-License-Identifier: Apache-2.0
// The innermost part of a kernel: accumulators start, reduced loops run, post-ops are applied and
// results stored, for one step of every output index.
#pragma once

#include <cstdint>
#include <vector>

#include "lower/context.h"

namespace tilefuse::lower {

// Points of each output index that this step computes: its full step, or with vector lanes the size
// of the partial last one.
using StepSizes = std::vector<std::int64_t>;

kernel::StmtRef register_tile(const Context &cx, const StepSizes &sizes);

} // namespace tilefuse::lower
