// SPDX-License-Identifier: Apache-2.0
// A kernel as two LLVM functions: the body, whose buffer parameters are known not to overlap, and
// the entry of the machine-code ABI (package/package.h) that fetches the arguments and calls it.
//
//   define internal void @body(ptr noalias %b0, …, i64 %block, ptr noalias %scratch)
//   define void @SYMBOL(ptr %args, i64 %block, ptr %scratch)
//
// Register buffers become SSA values, local buffers offsets into the scratch, loops are rotated and
// never unrolled further, `unroll` loops are repeated in place, and barriers vanish: a block is one
// work-item.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <llvm/IR/Module.h>

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

// Adds both functions to `module`. Error{Unsupported} for what one work-item of a CPU cannot run.
void emit_function(const kernel::Kernel &kernel, const std::string &symbol, llvm::Module &module);

} // namespace tilefuse::emit::native
