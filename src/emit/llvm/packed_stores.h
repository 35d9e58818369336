// SPDX-License-Identifier: Apache-2.0
// Bytes that numbers are rounded to and that lie side by side, as those of neighbouring channels: two to four
// vectors of words are packed at once, which holds them in the bytes' bounds too, and stored together.
//
//   b3[p .. 16] = u8x16(round(x))
//   b3[p + 16 .. 16] = u8x16(round(y))
//
// One vector by itself takes bounds and a narrowing of its own.
#pragma once

#include <span>
#include <vector>

#include "emit/llvm/rounding.h"

namespace tilefuse::emit::native {

struct PackedStore {
  const kernel::Store *store = nullptr;
  RoundedCast rounded;
};

// How many of the statements, from the first on, are such stores to one buffer that no value reads. `lanes`: of
// the processor's vectors of f32.
std::size_t count_packable(const kernel::Kernel &kernel, std::span<const kernel::StmtRef> stmts,
                           int lanes);

// These stores in groups, each behind the one before it in memory and of its type and bounds; at most four.
std::vector<std::vector<PackedStore>> packed_groups(std::span<const kernel::StmtRef> stmts);

// The bytes that `values` round to, one vector after the other.
llvm::Value *emit_packed(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                         std::span<llvm::Value *const> values);

} // namespace tilefuse::emit::native
