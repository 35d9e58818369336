// SPDX-License-Identifier: Apache-2.0
// Runs a kernel on the host, block by block, and checks what a device would leave undefined. Statements run for all
// work-items of a block together; under an If, and in loops whose bounds differ, for those that are active.
//
// f32 arithmetic rounds to float after each operation, f64 is double, integers are 64 bits wide; loads and stores convert by
// the buffer's type. An Error{Limit} names kernel, statement, block, lane and address of: an access out of bounds, a read
// of Local or Register memory that nothing wrote, two work-items touching a Local element between two barriers (one of
// them writing), a barrier that not every work-item reaches, and an integer division by zero.
#pragma once

#include <cstddef>
#include <span>

#include "kernel/nodes.h"

namespace tilefuse::kernel {

// Runs the whole grid. `args` are the Global buffers in order, each at least its buffer's size (else Error{Shape}).
void simulate(const Kernel& kernel, std::span<const std::span<std::byte>> args);

}  // namespace tilefuse::kernel
