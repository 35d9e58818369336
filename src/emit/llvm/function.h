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

#include <string>

#include <llvm/IR/Module.h>

#include "kernel/nodes.h"

namespace tilefuse::emit::native {

// Adds both functions to `module`. Error{Unsupported} for what one work-item of a CPU cannot run.
void emit_function(const kernel::Kernel &kernel, const std::string &symbol, llvm::Module &module);

} // namespace tilefuse::emit::native
