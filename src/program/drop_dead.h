// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "program/program.h"

namespace tilefuse::program {

// Drops statements, temporaries and constants that no output depends on; inputs stay. Tensors are
// numbered anew, in the same order.
Program drop_dead(const Program &program);

} // namespace tilefuse::program
