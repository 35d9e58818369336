// SPDX-License-Identifier: Apache-2.0
// Numbers that are rounded and then cast to narrow integers, as quantisation does: one conversion
// rounds to even, and bounds of the type hold before it.
//
//   u8x16(round(x))        u8x16(round(x) + 12)        u8x16(x + 0x1.8p23 - 0x1.8p23 + 12)
#pragma once

#include <optional>

#include "emit/llvm/values.h"

namespace tilefuse::emit::native {

// What is rounded, and the bounds within which its whole number and `offset` fit the type.
struct RoundedCast {
  kernel::ExprRef value{};
  double low = 0, high = 0;
  double offset = 0;
};

// Of a cast of a vector of f32 to integers of 8 or 16 bits; nothing of others.
std::optional<RoundedCast> rounded_cast(const kernel::Type &to, const kernel::Cast &cast);

// `value`: that of `rounded.value`. As integers of 32 bits that fit the type; and of the type.
llvm::Value *emit_rounded_words(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                                llvm::Value *value);
llvm::Value *emit_rounded(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                          llvm::Value *value);

} // namespace tilefuse::emit::native
