// SPDX-License-Identifier: Apache-2.0
// The memory of a model's activations over one run: launches from left to right, addresses from the
// top; a box for each tensor, as long as it is alive.
#pragma once

#include <span>

#include "model/plan/plan.h"
#include "model/session_stats.h"
#include "report/html/markup.h"

namespace tilefuse::report::html {

void arena_map(Markup &out, const model::Plan &plan, std::span<const model::KernelReport> kernels);

} // namespace tilefuse::report::html
