// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/scalar_ops.h"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>

#include "base/error.h"
#include "emit/llvm/math.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit::native {
namespace {

using llvm::CmpInst;

[[noreturn]] void unsupported(ScalarOp op, DType elem) {
  throw Error(ErrorCode::Unsupported,
              fmt::format("'{}' has no machine code for {}", row(op).name, to_string(elem)));
}

CmpInst::Predicate float_predicate(ScalarOp op) {
  switch (op) {
  case ScalarOp::Lt:
    return CmpInst::FCMP_OLT;
  case ScalarOp::Le:
    return CmpInst::FCMP_OLE;
  case ScalarOp::Gt:
    return CmpInst::FCMP_OGT;
  case ScalarOp::Ge:
    return CmpInst::FCMP_OGE;
  case ScalarOp::Eq:
    return CmpInst::FCMP_OEQ;
  default:
    return CmpInst::FCMP_UNE;
  }
}

CmpInst::Predicate integer_predicate(ScalarOp op, bool is_unsigned) {
  switch (op) {
  case ScalarOp::Lt:
    return is_unsigned ? CmpInst::ICMP_ULT : CmpInst::ICMP_SLT;
  case ScalarOp::Le:
    return is_unsigned ? CmpInst::ICMP_ULE : CmpInst::ICMP_SLE;
  case ScalarOp::Gt:
    return is_unsigned ? CmpInst::ICMP_UGT : CmpInst::ICMP_SGT;
  case ScalarOp::Ge:
    return is_unsigned ? CmpInst::ICMP_UGE : CmpInst::ICMP_SGE;
  case ScalarOp::Eq:
    return CmpInst::ICMP_EQ;
  default:
    return CmpInst::ICMP_NE;
  }
}

bool is_plain_divisor(llvm::Value *divisor) {
  const auto *number = llvm::dyn_cast<llvm::Constant>(divisor);
  if (number != nullptr && number->getType()->isVectorTy())
    number = number->getSplatValue();
  const auto *integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(number);
  return integer != nullptr && !integer->isZero() && !integer->isMinusOne();
}

// The processor traps on x / 0 and on lowest / -1: both divide by 1 instead and are corrected.
llvm::Value *safe_division(Ir &ir, bool remainder, bool is_unsigned, llvm::Value *a,
                           llvm::Value *b) {
  const auto divide = [&](llvm::Value *divisor) {
    if (is_unsigned)
      return remainder ? ir.CreateURem(a, divisor) : ir.CreateUDiv(a, divisor);
    return remainder ? ir.CreateSRem(a, divisor) : ir.CreateSDiv(a, divisor);
  };
  if (is_plain_divisor(b))
    return divide(b);
  llvm::Value *zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value *one = llvm::ConstantInt::get(a->getType(), 1);
  llvm::Value *by_zero = ir.CreateICmpEQ(b, zero);
  llvm::Value *negate = by_zero;
  llvm::Value *special = zero;
  if (!is_unsigned) {
    negate =
        ir.CreateOr(by_zero, ir.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType())));
    special = remainder ? zero : ir.CreateSelect(by_zero, zero, ir.CreateNeg(a));
  }
  llvm::Value *quotient = divide(ir.CreateSelect(negate, one, b));
  return ir.CreateSelect(negate, special, quotient);
}

llvm::Value *float_op(Ir &ir, ScalarOp op, DType elem, std::span<llvm::Value *const> v) {
  const bool is_f32 = elem == DType::F32;
  switch (op) {
  case ScalarOp::Neg:
    return ir.CreateFNeg(v[0]);
  case ScalarOp::Abs:
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v[0]);
  case ScalarOp::Exp:
    return is_f32 ? emit_exp_f32(ir, v[0]) : emit_libm(ir, "exp", v);
  case ScalarOp::Tanh:
    return is_f32 ? emit_tanh_f32(ir, v[0]) : emit_libm(ir, "tanh", v);
  case ScalarOp::Log:
    return is_f32 ? emit_log_f32(ir, v[0]) : emit_libm(ir, "log", v);
  case ScalarOp::Erf:
    return is_f32 ? emit_erf_f32(ir, v[0]) : emit_libm(ir, "erf", v);
  case ScalarOp::Sin:
    return emit_libm(ir, "sin", v);
  case ScalarOp::Cos:
    return emit_libm(ir, "cos", v);
  case ScalarOp::Pow:
    return is_f32 ? emit_pow_f32(ir, v[0], v[1]) : emit_libm(ir, "pow", v);
  case ScalarOp::Mod:
    return emit_libm(ir, "fmod", v);
  case ScalarOp::Sqrt:
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, v[0]);
  case ScalarOp::Floor:
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v[0]);
  case ScalarOp::Ceil:
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, v[0]);
  case ScalarOp::Round:
    return ir.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, v[0]);
  case ScalarOp::RoundF16:
  case ScalarOp::RoundBF16:
    return round_to(ir, *rounded_type(op), v[0]);
  case ScalarOp::Coarse:
    return v[0];
  case ScalarOp::Add:
    return ir.CreateFAdd(v[0], v[1]);
  case ScalarOp::Sub:
    return ir.CreateFSub(v[0], v[1]);
  case ScalarOp::Mul:
    return ir.CreateFMul(v[0], v[1]);
  case ScalarOp::Div:
    return ir.CreateFDiv(v[0], v[1]);
  case ScalarOp::Max:
    return ir.CreateSelect(ir.CreateFCmpOGT(v[1], v[0]), v[1], v[0]);
  case ScalarOp::Min:
    return ir.CreateSelect(ir.CreateFCmpOLT(v[1], v[0]), v[1], v[0]);
  default:
    unsupported(op, elem);
  }
}

// A shift amount modulo the width of the type.
llvm::Value *within_width(Ir &ir, DType elem, llvm::Value *amount) {
  const auto mask = static_cast<std::uint64_t>(size_bytes(elem) * 8 - 1);
  return ir.CreateAnd(amount, llvm::ConstantInt::get(amount->getType(), mask));
}

llvm::Value *integer_op(Ir &ir, ScalarOp op, DType elem, std::span<llvm::Value *const> v) {
  const bool is_unsigned = native::is_unsigned(elem);
  const auto larger = integer_predicate(ScalarOp::Gt, is_unsigned);
  switch (op) {
  case ScalarOp::Neg:
    return ir.CreateNeg(v[0]);
  case ScalarOp::Abs:
    return is_unsigned ? v[0] : ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v[0], ir.getFalse());
  case ScalarOp::Floor:
  case ScalarOp::Ceil:
  case ScalarOp::Round:
    return v[0];
  case ScalarOp::Add:
    return ir.CreateAdd(v[0], v[1]);
  case ScalarOp::Sub:
    return ir.CreateSub(v[0], v[1]);
  case ScalarOp::Mul:
    return ir.CreateMul(v[0], v[1]);
  case ScalarOp::Div:
    return safe_division(ir, false, is_unsigned, v[0], v[1]);
  case ScalarOp::Mod:
    return safe_division(ir, true, is_unsigned, v[0], v[1]);
  case ScalarOp::Max:
    return ir.CreateSelect(ir.CreateICmp(larger, v[1], v[0]), v[1], v[0]);
  case ScalarOp::Min:
    return ir.CreateSelect(ir.CreateICmp(larger, v[0], v[1]), v[1], v[0]);
  case ScalarOp::BitNot:
    return ir.CreateNot(v[0]);
  case ScalarOp::BitAnd:
    return ir.CreateAnd(v[0], v[1]);
  case ScalarOp::BitOr:
    return ir.CreateOr(v[0], v[1]);
  case ScalarOp::BitXor:
    return ir.CreateXor(v[0], v[1]);
  case ScalarOp::BitLeft:
    return ir.CreateShl(v[0], within_width(ir, elem, v[1]));
  case ScalarOp::BitRight:
    return is_unsigned ? ir.CreateLShr(v[0], within_width(ir, elem, v[1]))
                       : ir.CreateAShr(v[0], within_width(ir, elem, v[1]));
  default:
    unsupported(op, elem);
  }
}

bool is_ordering(ScalarOp op) {
  return op == ScalarOp::Lt || op == ScalarOp::Le || op == ScalarOp::Gt || op == ScalarOp::Ge ||
         op == ScalarOp::Eq || op == ScalarOp::Ne;
}

llvm::Value *compare(Ir &ir, ScalarOp op, DType elem, std::span<llvm::Value *const> v) {
  if (is_float(elem))
    return ir.CreateFCmp(float_predicate(op), v[0], v[1]);
  return ir.CreateICmp(integer_predicate(op, is_unsigned(elem)), v[0], v[1]);
}

} // namespace

llvm::Value *emit_scalar(Ir &ir, ScalarOp op, const kernel::Type &operand,
                         std::span<llvm::Value *const> args) {
  const DType elem = operand.elem;
  if (op == ScalarOp::Select)
    return ir.CreateSelect(args[0], args[1], args[2]);
  if (is_half(elem))
    unsupported(op, elem);
  if (is_ordering(op))
    return compare(ir, op, elem, args);
  if (op == ScalarOp::Not)
    return ir.CreateNot(args[0]);
  if (op == ScalarOp::And)
    return ir.CreateAnd(args[0], args[1]);
  if (op == ScalarOp::Or)
    return ir.CreateOr(args[0], args[1]);
  if (elem == DType::Bool)
    unsupported(op, elem);
  return is_float(elem) ? float_op(ir, op, elem, args) : integer_op(ir, op, elem, args);
}

} // namespace tilefuse::emit::native
