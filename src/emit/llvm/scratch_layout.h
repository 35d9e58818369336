// SPDX-License-Identifier: Apache-2.0
// Where a kernel's local buffers lie in the scratch of machine code.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/nodes.h"

namespace tilefuse::emit::native {

// Byte offsets of a kernel's local buffers, by buffer id, each a multiple of 64; buffers of other
// spaces have 0.
struct ScratchLayout {
  std::vector<std::int64_t> offsets;
  std::int64_t bytes = 0;
};

// Error{Limit} when a size leaves 64 bits.
ScratchLayout layout_scratch(const kernel::Kernel &kernel);
// Bytes of a buffer in memory; Error{Limit} as above.
std::int64_t buffer_bytes(const kernel::Buffer &buffer);

} // namespace tilefuse::emit::native
