// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/rounding.h"

#include <algorithm>
#include <cmath>

#include "kernel/rounding.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit::native {
namespace {

using kernel::ExprRef;

constexpr int kFewestLanes = 4;
constexpr double kLargestOffset = 1 << 20; // whole numbers beside it are exact

// What is rounded by the operation or by two additions; null for others.
ExprRef rounded_value(ExprRef expr) {
  const kernel::Scalar *round = kernel::call_of(expr, ScalarOp::Round);
  return round != nullptr ? round->args[0] : kernel::rounded_by_sums(expr);
}

// Bounds that the value has anyway are the ones that hold it, where they give of what is no number
// what the cast gives of it.
void join_bounds(RoundedCast &rounded) {
  const std::optional<kernel::Held> held = kernel::held(rounded.value);
  if (!held || held->low + rounded.offset != 0 || held->low < rounded.low || held->high < held->low)
    return;
  rounded.value = held->value;
  rounded.low = held->low;
  rounded.high = std::min(rounded.high, held->high);
}

} // namespace

std::optional<RoundedCast> rounded_cast(const kernel::Type &to, const kernel::Cast &cast) {
  const DTypeTraits &type = traits(to.elem);
  if (cast.value->type.elem != DType::F32 || is_float(to.elem) || to.elem == DType::Bool ||
      type.bits > 16 || to.lanes < kFewestLanes)
    return std::nullopt;
  RoundedCast rounded;
  ExprRef whole = cast.value;
  if (const kernel::Scalar *sum = kernel::call_of(whole, ScalarOp::Add))
    if (const std::optional<double> offset = kernel::constant_of(sum->args[1]);
        offset && *offset == std::floor(*offset) && std::fabs(*offset) <= kLargestOffset) {
      rounded.offset = *offset;
      whole = sum->args[0];
    }
  rounded.value = rounded_value(whole);
  if (rounded.value == nullptr)
    return std::nullopt;
  rounded.low = lowest(to.elem) - rounded.offset;
  rounded.high = highest(to.elem) - rounded.offset;
  join_bounds(rounded);
  return rounded;
}

llvm::Value *emit_rounded_words(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                                llvm::Value *value) {
  llvm::Value *low = llvm::ConstantFP::get(value->getType(), rounded.low);
  llvm::Value *high = llvm::ConstantFP::get(value->getType(), rounded.high);
  llvm::Value *above = ir.CreateSelect(ir.CreateFCmpOGT(value, low), value, low);
  llvm::Value *inside = ir.CreateSelect(ir.CreateFCmpOLT(above, high), above, high);
  llvm::Type *words = llvm::FixedVectorType::get(ir.getInt32Ty(), static_cast<unsigned>(to.lanes));
  llvm::Value *whole =
      ir.CreateIntrinsic(llvm::Intrinsic::lrint, {words, value->getType()}, {inside});
  if (rounded.offset != 0)
    whole = ir.CreateAdd(
        whole, llvm::ConstantInt::getSigned(words, static_cast<std::int64_t>(rounded.offset)));
  // What is no number is the low bound here, and must be 0.
  if (rounded.low + rounded.offset != 0)
    whole =
        ir.CreateSelect(ir.CreateFCmpORD(value, value), whole, llvm::Constant::getNullValue(words));
  return whole;
}

llvm::Value *emit_rounded(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
                          llvm::Value *value) {
  return ir.CreateTrunc(emit_rounded_words(ir, to, rounded, value), value_type(ir, to));
}

} // namespace tilefuse::emit::native
