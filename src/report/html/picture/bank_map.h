// SPDX-License-Identifier: Apache-2.0
// Banks of local memory by phase: for each access the phases of the warps of a block, a row for
// those that ask alike, and how many words of each bank they ask for; all but one of a bank are
// conflicts.
#pragma once

#include <span>

#include "report/html/markup.h"
#include "report/page/bank_patterns.h"

namespace tilefuse::report::html {

// Nothing where no access was traced.
void bank_map(Markup &out, std::span<const BankAccess> accesses);

} // namespace tilefuse::report::html
