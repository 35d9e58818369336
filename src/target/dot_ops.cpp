// SPDX-License-Identifier: Apache-2.0
#include "target/dot_ops.h"

#include <algorithm>
#include <array>

namespace tilefuse {
namespace {

constexpr std::array kOps = std::to_array<DotOp>({
    {"dot2.s16.s16.s32", 2, DType::I16, DType::I16, DType::I32},
    {"dot4.u8.s8.s32", 4, DType::U8, DType::I8, DType::I32},
    {"dot4.s8.s8.s32", 4, DType::I8, DType::I8, DType::I32},
    {"dot4.u8.u8.s32", 4, DType::U8, DType::U8, DType::I32},
    {"rowdot4.u8.s8.s32", 4, DType::U8, DType::I8, DType::I32, 16, 16, 8},
    {"rowdot4.s8.s8.s32", 4, DType::I8, DType::I8, DType::I32, 16, 16, 8},
    {"rowdot4.s8.u8.s32", 4, DType::I8, DType::U8, DType::I32, 16, 16, 8},
    {"rowdot4.u8.u8.s32", 4, DType::U8, DType::U8, DType::I32, 16, 16, 8},
});

} // namespace

std::span<const DotOp> dot_ops() { return kOps; }

const DotOp *find_dot_op(std::string_view name) {
  const auto *found =
      std::find_if(kOps.begin(), kOps.end(), [&](const DotOp &op) { return op.name == name; });
  return found == kOps.end() ? nullptr : found;
}

} // namespace tilefuse
