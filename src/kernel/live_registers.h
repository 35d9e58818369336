// SPDX-License-Identifier: Apache-2.0
// How many registers a work-item needs at once, by live ranges: of variables from `let` to their
// last use, of register values from the first store to the last load, across a loop when they are
// alive at its beginning; and of what an expression holds while it is computed. A lower bound of
// what a back end's allocator gives out.
#pragma once

#include <cstdint>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Most 32-bit registers alive at once: a value takes lanes * size, rounded up to whole registers.
std::int64_t live_registers(const Kernel &kernel);

} // namespace tilefuse::kernel
