// SPDX-License-Identifier: Apache-2.0
#include "emit/llvm/rounding.h"

#include <algorithm>
#include <cmath>

#include "kernel/build.h"
#include "target/dtype_traits.h"

namespace tilefuse::emit::native {
namespace {

using kernel::ExprRef;

constexpr int kFewestLanes = 4;
constexpr double kLargestOffset = 1 << 20; // whole numbers beside it are exact

const kernel::Scalar *call_of(ExprRef expr, ScalarOp op) {
  const auto *node = std::get_if<kernel::Scalar>(&expr->node);
  return node != nullptr && node->op == op ? node : nullptr;
}

std::optional<double> constant_of(ExprRef expr) {
  const auto *constant = std::get_if<kernel::Const>(&expr->node);
  return constant == nullptr ? std::nullopt : std::optional(constant->value);
}

// What is rounded by the operation or by two additions (lower/post.h); null for others.
ExprRef rounded_value(ExprRef expr) {
  constexpr double kWhole = 0x1.8p23;
  if (const kernel::Scalar *round = call_of(expr, ScalarOp::Round))
    return round->args[0];
  const kernel::Scalar *back = call_of(expr, ScalarOp::Sub);
  const kernel::Scalar *there = back != nullptr ? call_of(back->args[0], ScalarOp::Add) : nullptr;
  const bool rounds = there != nullptr && constant_of(there->args[1]) == kWhole &&
                      constant_of(back->args[1]) == kWhole;
  return rounds ? there->args[0] : nullptr;
}

// Bounds that the value has anyway, min(max(x, low), high), are the ones that hold it, where they
// give of what is no number what the cast gives of it.
void join_bounds(RoundedCast &rounded) {
  const kernel::Scalar *below = call_of(rounded.value, ScalarOp::Min);
  const kernel::Scalar *above = below != nullptr ? call_of(below->args[0], ScalarOp::Max) : nullptr;
  if (above == nullptr)
    return;
  const std::optional<double> low = constant_of(above->args[1]);
  const std::optional<double> high = constant_of(below->args[1]);
  if (!low || !high || *low + rounded.offset != 0 || *low < rounded.low || *high < *low)
    return;
  rounded.value = above->args[0];
  rounded.low = *low;
  rounded.high = std::min(rounded.high, *high);
}

} // namespace

std::optional<RoundedCast> rounded_cast(const kernel::Type &to, const kernel::Cast &cast) {
  const DTypeTraits &type = traits(to.elem);
  if (cast.value->type.elem != DType::F32 || is_float(to.elem) || to.elem == DType::Bool ||
      type.bits > 16 || to.lanes < kFewestLanes)
    return std::nullopt;
  RoundedCast rounded;
  ExprRef whole = cast.value;
  if (const kernel::Scalar *sum = call_of(whole, ScalarOp::Add))
    if (const std::optional<double> offset = constant_of(sum->args[1]);
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

llvm::Value *emit_rounded(Ir &ir, const kernel::Type &to, const RoundedCast &rounded,
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
  return ir.CreateTrunc(whole, value_type(ir, to));
}

} // namespace tilefuse::emit::native
