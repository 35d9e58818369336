// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/dots.h"

#include <array>

#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/error.h"

namespace tilefuse::emit::native {
namespace {

using llvm::Intrinsic::ID;

// The instruction on 4, 8 and 16 lanes.
struct Row {
  std::string_view op;
  std::array<ID, 3> intrinsics;
  bool adds; // c too; else it is added afterwards
};

constexpr std::array kRows = std::to_array<Row>({
    {"dot2.s16.s16.s32",
     {llvm::Intrinsic::x86_sse2_pmadd_wd, llvm::Intrinsic::x86_avx2_pmadd_wd,
      llvm::Intrinsic::x86_avx512_pmaddw_d_512},
     false},
    {"dot4.u8.s8.s32",
     {llvm::Intrinsic::x86_avx512_vpdpbusd_128, llvm::Intrinsic::x86_avx512_vpdpbusd_256,
      llvm::Intrinsic::x86_avx512_vpdpbusd_512},
     true},
});

unsigned lanes_of(llvm::Value *vector) {
  const auto *type = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
  return type == nullptr ? 1 : type->getNumElements();
}

} // namespace

llvm::Value *emit_dot(Ir &ir, const DotOp &op, llvm::Value *a, llvm::Value *b, llvm::Value *c) {
  const unsigned lanes = lanes_of(c);
  for (const Row &row : kRows) {
    if (row.op != op.name || (lanes != 4 && lanes != 8 && lanes != 16))
      continue;
    const ID id = row.intrinsics[lanes == 4 ? 0 : (lanes == 8 ? 1 : 2)];
    if (!row.adds)
      return ir.CreateAdd(ir.CreateIntrinsic(id, {}, {a, b}), c);
    return ir.CreateIntrinsic(
        id, {}, {c, ir.CreateBitCast(a, c->getType()), ir.CreateBitCast(b, c->getType())});
  }
  throw Error(ErrorCode::Unsupported,
              fmt::format("'{}' of {} lanes has no machine code", op.name, lanes));
}

llvm::Value *repeated(Ir &ir, llvm::Value *vector, const kernel::Type &type) {
  const unsigned bits = static_cast<unsigned>(vector->getType()->getPrimitiveSizeInBits());
  const int times = type.lanes / static_cast<int>(lanes_of(vector));
  llvm::Value *group = ir.CreateBitCast(vector, ir.getIntNTy(bits));
  return ir.CreateBitCast(splat(ir, group, times), value_type(ir, type));
}

} // namespace tilefuse::emit::native
