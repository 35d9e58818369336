// SPDX-License-Identifier: Apache-2.0
// Elementary functions. Those of f32 are polynomials on whole vectors (within 2 units in the last
// place over the full range, exact at 0, infinities and NaN); sine, cosine and everything of f64
// call the C library once per lane, by names that the loader of objects knows
// (runtime/cpu/elf_loader.cpp).
#pragma once

#include <span>
#include <string_view>

#include "emit/llvm/values.h"

namespace tilefuse::emit::native {

// Flag of a module: floats in the processor's widest vector.
inline constexpr const char *kVectorFlag = "tilefuse_vector_f32";
int vector_lanes(const llvm::Module &module); // its value; 0 where it is not set

// e^x of float or <N x float>.
llvm::Value *emit_exp_f32(Ir &ir, llvm::Value *x);
// tanh(x) of float or <N x float>.
llvm::Value *emit_tanh_f32(Ir &ir, llvm::Value *x);
// The natural logarithm of float or <N x float>.
llvm::Value *emit_log_f32(Ir &ir, llvm::Value *x);
// The error function of float or <N x float>.
llvm::Value *emit_erf_f32(Ir &ir, llvm::Value *x);
// x^y of float or <N x float>, special cases as those of the C library (C17, annex F.10.4.4);
// computed in double, so that a power that is a float comes out exact.
llvm::Value *emit_pow_f32(Ir &ir, llvm::Value *x, llvm::Value *y);

// The C function `name` ("pow"; "powf" for f32), applied lane by lane to one or two operands of
// equal float types.
llvm::Value *emit_libm(Ir &ir, std::string_view name, std::span<llvm::Value *const> args);

} // namespace tilefuse::emit::native
