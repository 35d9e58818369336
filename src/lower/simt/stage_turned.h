// SPDX-License-Identifier: Apache-2.0
// Filling a staging tile that vector lanes run through and that lies in memory along another
// dimension (`stage 0 turned`): squares of vectors are read along the run of memory, their rows and
// columns exchanged in registers, and written along the lanes.
#pragma once

#include "lower/context.h"

namespace tilefuse::lower {

// Requires a turned tile of vector lanes.
StmtRef fill_turned(const Context &cx, int input);

} // namespace tilefuse::lower
