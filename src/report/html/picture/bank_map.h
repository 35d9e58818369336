// SPDX-License-Identifier: Apache-2.0
// Accesses of local memory by the phases that a warp's take: how many wavefronts each phase needs,
// of which all but one are conflicts of banks.
#pragma once

#include <span>

#include "kernel/counts.h"
#include "report/html/markup.h"

namespace tilefuse::report::html {

void bank_map(Markup &out, std::span<const kernel::AccessCounts> accesses);

} // namespace tilefuse::report::html
