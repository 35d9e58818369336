// SPDX-License-Identifier: Apache-2.0
// Launches by their time, the longest first: a bar each, its share and that of all up to it, and a
// mark where the cost model expected its end.
#pragma once

#include <span>
#include <vector>

#include "model/session_stats.h"
#include "report/html/markup.h"

namespace tilefuse::report::html {

// `predicted` by launch, seconds; empty where the times are the predicted ones.
void time_bars(Markup &out, std::span<const model::KernelReport> kernels,
               std::span<const double> predicted);

} // namespace tilefuse::report::html
