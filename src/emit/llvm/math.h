// SPDX-License-Identifier: Apache-2.0
// Elementary functions. exp and tanh of f32 are polynomials on whole vectors (within 2 units in the
// last place over the full range, exact at 0, infinities and NaN); everything else calls the C
// library once per lane, by names that the loader of objects knows (runtime/cpu/elf_loader.cpp).
#pragma once

#include <span>
#include <string_view>

#include "emit/llvm/values.h"

namespace tilefuse::emit::native {

// e^x of float or <N x float>.
llvm::Value *emit_exp_f32(Ir &ir, llvm::Value *x);
// tanh(x) of float or <N x float>.
llvm::Value *emit_tanh_f32(Ir &ir, llvm::Value *x);

// The C function `name` ("pow"; "powf" for f32), applied lane by lane to one or two operands of
// equal float types.
llvm::Value *emit_libm(Ir &ir, std::string_view name, std::span<llvm::Value *const> args);

} // namespace tilefuse::emit::native
