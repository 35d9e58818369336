// SPDX-License-Identifier: Apache-2.0
// Dot products of x86-64: each row of target/dot_ops.h as the instructions that compute it.
#pragma once

#include "emit/llvm/values.h"
#include "target/dot_ops.h"

namespace tilefuse::emit::native {

// c plus op.products products of neighbours of a and b for each lane. Error{Unsupported} for lanes
// that fill no vector register.
llvm::Value *emit_dot(Ir &ir, const DotOp &op, llvm::Value *a, llvm::Value *b, llvm::Value *c);

// A vector of integers over and over, as one of `type`.
llvm::Value *repeated(Ir &ir, llvm::Value *vector, const kernel::Type &type);

} // namespace tilefuse::emit::native
