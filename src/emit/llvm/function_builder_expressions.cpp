// SPDX-License-Identifier: Apache-2.0
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/index.h"
#include "emit/llvm/dots.h"
#include "emit/llvm/function_builder.h"
#include "emit/llvm/rounding.h"
#include "emit/llvm/scalar_ops.h"

namespace tilefuse::emit::native {

// Sums, differences and constant multiples of index arithmetic keep their constant part apart.
Index FunctionBuilder::int_scalar(kernel::ExprRef expr, const kernel::Scalar &scalar) {
  switch (scalar.op) {
  case ScalarOp::Add:
    return add(ir_, index(scalar.args[0]), index(scalar.args[1]));
  case ScalarOp::Sub:
    return subtract(ir_, index(scalar.args[0]), index(scalar.args[1]));
  case ScalarOp::Mul:
    return multiply(ir_, index(scalar.args[0]), index(scalar.args[1]));
  default:
    return split(visit(expr));
  }
}

Index FunctionBuilder::index(kernel::ExprRef expr) {
  if (!is_int(expr->type))
    throw Error(ErrorCode::Unsupported, "an index of the kernel is not a 32-bit integer scalar");
  if (const auto *ref = std::get_if<kernel::VarRef>(&expr->node))
    return slot(ref->var);
  if (const auto known = known_.find(expr); known != known_.end())
    return known->second;
  const auto *scalar = std::get_if<kernel::Scalar>(&expr->node);
  const Index result = scalar != nullptr ? int_scalar(expr, *scalar) : split(visit(expr));
  known_.emplace(expr, result);
  return result;
}

llvm::Value *FunctionBuilder::value(kernel::ExprRef expr) {
  if (is_int(expr->type))
    return whole(ir_, index(expr));
  if (const auto known = known_.find(expr); known != known_.end())
    return known->second.dynamic;
  llvm::Value *result = visit(expr);
  known_.emplace(expr, Index{result, 0});
  return result;
}

llvm::Value *FunctionBuilder::visit(kernel::ExprRef expr) {
  return std::visit([&](const auto &inner) { return node(*expr, inner); }, expr->node);
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &expr, const kernel::Const &number) {
  return constant(ir_, expr.type, number.value);
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &, const kernel::VarRef &ref) {
  return whole(ir_, slot(ref.var));
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &, const kernel::BlockIndex &) {
  return block_;
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &, const kernel::LaneIndex &) {
  return ir_.getInt64(0);
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &, const kernel::Scalar &scalar) {
  std::vector<llvm::Value *> args;
  for (kernel::ExprRef arg : scalar.args)
    args.push_back(value(arg));
  return emit_scalar(ir_, scalar.op, scalar.args.back()->type, args);
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &expr, const kernel::Fma &fma) {
  if (expr.type.elem != DType::F32 && expr.type.elem != DType::F64)
    throw Error(ErrorCode::Unsupported,
                fmt::format("'fma' has no machine code for {}", to_string(expr.type.elem)));
  llvm::Value *a = value(fma.a);
  llvm::Value *b = value(fma.b);
  llvm::Value *c = value(fma.c);
  return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &, const kernel::Dot &dot) {
  llvm::Value *a = value(dot.a);
  llvm::Value *b = value(dot.b);
  return emit_dot(ir_, *dot.op, a, b, value(dot.c));
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &expr, const kernel::Cast &node) {
  if (const std::optional<RoundedCast> rounded = rounded_cast(expr.type, node))
    return emit_rounded(ir_, expr.type, *rounded, value(rounded->value));
  return cast(ir_, node.value->type, expr.type, value(node.value));
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &expr, const kernel::Broadcast &broadcast) {
  llvm::Value *scalar = value(broadcast.value);
  if (is_int(broadcast.value->type) && expr.type.lanes > 1)
    scalar = ir_.CreateTrunc(scalar, ir_.getInt32Ty());
  if (broadcast.value->type.lanes > 1)
    return repeated(ir_, scalar, expr.type);
  return splat(ir_, scalar, expr.type.lanes);
}

llvm::Value *FunctionBuilder::node(const kernel::Expr &expr, const kernel::Load &load) {
  const kernel::Buffer &buffer = kernel_[load.buffer];
  if (buffer.space == kernel::Space::Register && buffer.type.lanes != expr.type.lanes)
    return gathered(expr.type, load);
  if (buffer.space == kernel::Space::Register)
    return ir_.CreateLoad(value_type(ir_, expr.type), register_slot(load.buffer, load.index));
  Access from = access(load.buffer, expr.type, load.index);
  from.stride = load.lane_stride;
  if (load.valid != nullptr)
    from.valid = value(load.valid);
  return emit_load(ir_, from, load.fill);
}

Access FunctionBuilder::access(kernel::BufferId buffer, const kernel::Type &type,
                               kernel::ExprRef at) {
  return {.base = bases_[static_cast<std::size_t>(buffer)],
          .type = {kernel_[buffer].type.elem, type.lanes},
          .index = index(at)};
}

// A vector of registers of one lane.
llvm::Value *FunctionBuilder::gathered(const kernel::Type &type, const kernel::Load &load) {
  if (kernel_[load.buffer].type.lanes != 1)
    throw Error(ErrorCode::Unsupported, "registers of several lanes are gathered into a vector");
  llvm::Value *vector = llvm::PoisonValue::get(value_type(ir_, type));
  for (int lane = 0; lane < type.lanes; ++lane) {
    llvm::AllocaInst *from = register_slot(load.buffer, load.index, lane * load.lane_stride);
    llvm::Value *element = ir_.CreateLoad(from->getAllocatedType(), from);
    if (element->getType()->isIntegerTy())
      element = ir_.CreateSExtOrTrunc(element, vector->getType()->getScalarType());
    vector = ir_.CreateInsertElement(vector, element, static_cast<std::uint64_t>(lane));
  }
  return vector;
}

llvm::AllocaInst *FunctionBuilder::register_slot(kernel::BufferId buffer, kernel::ExprRef at,
                                                 std::int64_t behind) {
  Index where = index(at);
  where.constant += behind;
  const auto &values = registers_[static_cast<std::size_t>(buffer)];
  const bool in_range =
      where.constant >= 0 && where.constant < static_cast<std::int64_t>(values.size());
  if (where.dynamic != nullptr || !in_range)
    throw Error(ErrorCode::Unsupported,
                fmt::format("an index of register buffer '{}' is not a constant in [0, {})",
                            kernel_[buffer].name, values.size()));
  return values[static_cast<std::size_t>(where.constant)];
}

} // namespace tilefuse::emit::native
