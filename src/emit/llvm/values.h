// SPDX-License-Identifier: Apache-2.0
// Kernel types as LLVM types, in two forms: as a value and as it lies in memory.
//
//   kernel       value            memory
//   int          i64              i32        index arithmetic is 64 bits wide throughout
//   i32xN        <N x i32>        <N x i32>
//   bool         i1               i8         any non-zero byte is true
//   f16, bf16    i16              i16        bits; only cast() looks inside
//   others       themselves       themselves
//
// A type of one lane is a plain scalar. Nothing here sets fast-math flags.
#pragma once

#include <cstdint>

#include <llvm/IR/IRBuilder.h>

#include "kernel/nodes.h"

namespace tilefuse::emit::native {

using Ir = llvm::IRBuilder<>;

// True for {I32, 1}, which is held as i64.
bool is_int(const kernel::Type &type);
// True for types whose order is unsigned: u8 and bool.
bool is_unsigned(DType elem);

llvm::Type *value_type(Ir &ir, const kernel::Type &type);
llvm::Type *memory_type(Ir &ir, DType elem, int lanes);

// `scalar` repeated `lanes` times; lanes 1 gives it back.
llvm::Value *splat(Ir &ir, llvm::Value *scalar, int lanes);
// Every lane is `value`, rounded to the type; out of range saturates.
llvm::Constant *constant(Ir &ir, const kernel::Type &type, double value);
// The same as bits in memory.
llvm::Constant *memory_constant(Ir &ir, const kernel::Type &type, double value);

// Between the two forms of one type.
llvm::Value *from_memory(Ir &ir, const kernel::Type &type, llvm::Value *value);
llvm::Value *to_memory(Ir &ir, const kernel::Type &type, llvm::Value *value);

// True where a lane is not zero: i1 or <N x i1>.
llvm::Value *to_bool(Ir &ir, DType elem, llvm::Value *value);
// f32 rounded to f16 or bf16, as f32.
llvm::Value *round_to(Ir &ir, DType elem, llvm::Value *value);
// Conversion of values. Float to integer truncates and saturates (NaN gives 0), integers wrap, and
// narrower floats are rounded to nearest even.
llvm::Value *cast(Ir &ir, const kernel::Type &from, const kernel::Type &to, llvm::Value *value);

} // namespace tilefuse::emit::native
