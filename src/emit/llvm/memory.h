// SPDX-License-Identifier: Apache-2.0
// Loads and stores of buffers. An index is kept as `dynamic + constant` up to here, so that the
// constant becomes the displacement of the instruction's address. Nothing outside the lanes that
// `valid` allows is ever touched.
//
// One lane under a condition reads through a selected pointer (its element or a constant in
// read-only memory), which needs no branch; a vector uses the processor's masked access where it
// has one (32 and 64 bits wide) and otherwise branches on "all lanes valid".
#pragma once

#include <cstdint>
#include <vector>

#include "emit/llvm/values.h"

namespace tilefuse::emit::native {

// An i64 in two parts; a null `dynamic` means the constant alone.
struct Index {
  llvm::Value *dynamic = nullptr;
  std::int64_t constant = 0;
};

// The whole as one i64.
llvm::Value *whole(Ir &ir, const Index &index);
// Splits what is an integer constant.
Index split(llvm::Value *value);
Index add(Ir &ir, const Index &a, const Index &b);
Index subtract(Ir &ir, const Index &a, const Index &b);
Index multiply(Ir &ir, const Index &a, const Index &b);

// Elements `index + lane * stride` of the array at `base`; lanes at or past `valid` (i64, null:
// none) are left alone.
struct Access {
  llvm::Value *base = nullptr;
  kernel::Type type;
  Index index;
  std::int64_t stride = 1;
  llvm::Value *valid = nullptr;
};

// Address of the access's element `offset` places on.
llvm::Value *address(Ir &ir, const Access &access, std::int64_t offset = 0);
llvm::Value *emit_load(Ir &ir, const Access &access, double fill);
void emit_store(Ir &ir, const Access &access, llvm::Value *value);

// Exchanges rows and columns of as many vectors as each has lanes: blocks off the diagonal change
// places, halves first (Eklundh 1972).
void transpose(Ir &ir, std::vector<llvm::Value *> &rows);

} // namespace tilefuse::emit::native
