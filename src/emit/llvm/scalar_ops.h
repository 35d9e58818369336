// SPDX-License-Identifier: Apache-2.0
// Scalar operations on LLVM values, with the meaning of evaluate() in target/dtype.h: max is `b > a
// ? b : a`, round is half to even, integer division by zero gives 0 and never traps.
#pragma once

#include <span>

#include "emit/llvm/values.h"

namespace tilefuse::emit::native {

// `operand` is the type of the last argument (of both branches for Select). Error{Unsupported}
// names an operation that the type does not have.
llvm::Value *emit_scalar(Ir &ir, ScalarOp op, const kernel::Type &operand,
                         std::span<llvm::Value *const> args);

} // namespace tilefuse::emit::native
