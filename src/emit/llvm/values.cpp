// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/values.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "target/dtype_traits.h"

namespace tilefuse::emit::native {
namespace {

llvm::Type *widen(llvm::Type *scalar, int lanes) {
  if (lanes == 1)
    return scalar;
  return llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

llvm::Type *same_lanes(llvm::Type *scalar, llvm::Value *like) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return vector == nullptr ? scalar : llvm::FixedVectorType::get(scalar, vector->getNumElements());
}

// Floats of 16 bits are held as their bits.
llvm::Type *memory_scalar(Ir &ir, DType elem) {
  if (is_float(elem) && !is_half(elem))
    return elem == DType::F32 ? ir.getFloatTy() : ir.getDoubleTy();
  return ir.getIntNTy(static_cast<unsigned>(traits(elem).bits));
}

llvm::Constant *scalar_constant(llvm::Type *type, DType elem, double value) {
  if (elem == DType::Bool)
    return llvm::ConstantInt::get(type, value != 0 ? 1 : 0);
  if (is_half(elem)) {
    std::uint64_t bits = 0;
    store_element(&bits, elem, 0, value);
    return llvm::ConstantInt::get(type, bits);
  }
  return is_float(elem) ? llvm::ConstantFP::get(type, value)
                        : llvm::ConstantInt::get(
                              type, static_cast<std::uint64_t>(whole_of(value, elem)), true);
}

llvm::Constant *splat_constant(llvm::Constant *scalar, int lanes) {
  if (lanes == 1)
    return scalar;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)),
                                        scalar);
}

llvm::Value *half_like_to_float(Ir &ir, DType elem, llvm::Value *bits) {
  if (elem == DType::F16)
    return ir.CreateFPExt(ir.CreateBitCast(bits, same_lanes(ir.getHalfTy(), bits)),
                          same_lanes(ir.getFloatTy(), bits));
  llvm::Value *wide = ir.CreateZExt(bits, same_lanes(ir.getInt32Ty(), bits));
  return ir.CreateBitCast(ir.CreateShl(wide, 16), same_lanes(ir.getFloatTy(), bits));
}

// Adds half of the last kept place, ties to even; a NaN stays one by its quiet bit.
llvm::Value *float_to_bfloat_bits(Ir &ir, llvm::Value *value) {
  llvm::Type *i32 = same_lanes(ir.getInt32Ty(), value);
  llvm::Value *bits = ir.CreateBitCast(value, i32);
  llvm::Value *high = ir.CreateLShr(bits, 16);
  llvm::Value *odd = ir.CreateAnd(high, 1);
  llvm::Value *bias = ir.CreateAdd(odd, llvm::ConstantInt::get(i32, 0x7FFF));
  llvm::Value *rounded = ir.CreateLShr(ir.CreateAdd(bits, bias), 16);
  llvm::Value *quiet = ir.CreateOr(high, llvm::ConstantInt::get(i32, 0x40));
  llvm::Value *chosen = ir.CreateSelect(ir.CreateFCmpUNO(value, value), quiet, rounded);
  return ir.CreateTrunc(chosen, same_lanes(ir.getInt16Ty(), value));
}

llvm::Value *float_to_half_like(Ir &ir, DType elem, llvm::Value *value) {
  if (elem == DType::BF16)
    return float_to_bfloat_bits(ir, value);
  return ir.CreateBitCast(ir.CreateFPTrunc(value, same_lanes(ir.getHalfTy(), value)),
                          same_lanes(ir.getInt16Ty(), value));
}

// Vectors of integers of up to 32 bits: LLVM would convert them lane by lane.
llvm::Value *float_to_lanes(Ir &ir, const kernel::Type &to, llvm::Value *value) {
  const bool has_all = is_narrow(to.elem) || value->getType()->getScalarType()->isDoubleTy();
  const double largest = has_all ? highest(to.elem) : 0x1.fffffep30; // that fits
  const auto bound = [&](double number) { return llvm::ConstantFP::get(value->getType(), number); };
  llvm::Value *low = bound(lowest(to.elem));
  llvm::Value *high = bound(largest);
  llvm::Value *above = ir.CreateSelect(ir.CreateFCmpOGT(value, low), value, low);
  llvm::Value *inside = ir.CreateSelect(ir.CreateFCmpOLT(above, high), above, high);
  llvm::Value *whole = ir.CreateFPToSI(inside, same_lanes(ir.getInt32Ty(), value));
  if (!has_all)
    whole =
        ir.CreateSelect(ir.CreateFCmpOGT(value, high),
                        llvm::ConstantInt::get(whole->getType(), std::int64_t{INT32_MAX}), whole);
  if (!is_unsigned(to.elem)) // what is no number is the low bound here, and must be 0
    whole = ir.CreateSelect(ir.CreateFCmpORD(value, value), whole,
                            llvm::Constant::getNullValue(whole->getType()));
  return ir.CreateTrunc(whole, value_type(ir, to));
}

llvm::Value *float_to_integer(Ir &ir, const kernel::Type &to, llvm::Value *value) {
  if ((is_narrow(to.elem) || to.elem == DType::I32) && to.lanes > 1)
    return float_to_lanes(ir, to, value);
  llvm::Type *memory = same_lanes(memory_scalar(ir, to.elem), value);
  const auto id = is_unsigned(to.elem) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
  llvm::Value *narrow = ir.CreateIntrinsic(id, {memory, value->getType()}, {value});
  return ir.CreateSExtOrTrunc(narrow, value_type(ir, to));
}

llvm::Value *integer_to_integer(Ir &ir, const kernel::Type &from, const kernel::Type &to,
                                llvm::Value *value) {
  llvm::Type *type = value_type(ir, to);
  if (is_int(to) && (traits(from.elem).bits == 64 || from.elem == DType::U32))
    return ir.CreateSExt(ir.CreateTrunc(value, ir.getInt32Ty()), type);
  return ir.CreateIntCast(value, type, !is_unsigned(from.elem));
}

} // namespace

bool is_int(const kernel::Type &type) { return type.elem == DType::I32 && type.lanes == 1; }
bool is_unsigned(DType elem) { return !traits(elem).is_signed; }

llvm::Type *value_type(Ir &ir, const kernel::Type &type) {
  if (is_int(type))
    return ir.getInt64Ty();
  if (type.elem == DType::Bool)
    return widen(ir.getInt1Ty(), type.lanes);
  return memory_type(ir, type.elem, type.lanes);
}

llvm::Type *memory_type(Ir &ir, DType elem, int lanes) {
  return widen(memory_scalar(ir, elem), lanes);
}

llvm::Value *splat(Ir &ir, llvm::Value *scalar, int lanes) {
  return lanes == 1 ? scalar : ir.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Constant *constant(Ir &ir, const kernel::Type &type, double value) {
  llvm::Type *scalar = value_type(ir, type)->getScalarType();
  return splat_constant(scalar_constant(scalar, type.elem, value), type.lanes);
}

llvm::Constant *memory_constant(Ir &ir, const kernel::Type &type, double value) {
  return splat_constant(scalar_constant(memory_scalar(ir, type.elem), type.elem, value),
                        type.lanes);
}

llvm::Value *from_memory(Ir &ir, const kernel::Type &type, llvm::Value *value) {
  if (is_int(type))
    return ir.CreateSExt(value, ir.getInt64Ty());
  if (type.elem == DType::Bool)
    return ir.CreateIsNotNull(value);
  return value;
}

llvm::Value *to_memory(Ir &ir, const kernel::Type &type, llvm::Value *value) {
  if (is_int(type))
    return ir.CreateTrunc(value, ir.getInt32Ty());
  if (type.elem == DType::Bool)
    return ir.CreateZExt(value, memory_type(ir, type.elem, type.lanes));
  return value;
}

llvm::Value *to_bool(Ir &ir, DType elem, llvm::Value *value) {
  if (elem == DType::Bool)
    return value;
  if (is_half(elem))
    value = half_like_to_float(ir, elem, value);
  if (!is_float(elem))
    return ir.CreateIsNotNull(value);
  return ir.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0));
}

llvm::Value *round_to(Ir &ir, DType elem, llvm::Value *value) {
  return half_like_to_float(ir, elem, float_to_half_like(ir, elem, value));
}

llvm::Value *cast(Ir &ir, const kernel::Type &from, const kernel::Type &to, llvm::Value *value) {
  if (from.elem == to.elem)
    return value;
  if (to.elem == DType::Bool)
    return to_bool(ir, from.elem, value);
  if (!is_float(from.elem) && !is_float(to.elem))
    return integer_to_integer(ir, from, to, value);
  if (is_half(from.elem)) {
    const kernel::Type wide{DType::F32, from.lanes};
    return cast(ir, wide, to, half_like_to_float(ir, from.elem, value));
  }
  if (is_half(to.elem)) {
    const kernel::Type wide{DType::F32, to.lanes};
    return float_to_half_like(ir, to.elem, cast(ir, from, wide, value));
  }
  if (!is_float(to.elem))
    return float_to_integer(ir, to, value);
  if (is_float(from.elem))
    return ir.CreateFPCast(value, value_type(ir, to));
  return is_unsigned(from.elem) ? ir.CreateUIToFP(value, value_type(ir, to))
                                : ir.CreateSIToFP(value, value_type(ir, to));
}

} // namespace tilefuse::emit::native
