// SPDX-License-Identifier: Apache-2.0
// Folding of whole-number arithmetic: sums as terms + constant, products by a constant pushed
// inwards, quotients and remainders of what is divisible. Nothing here assumes wrap-around.
#include <optional>

#include "kernel/build.h"
#include "kernel/walk.h"

namespace tilefuse::kernel {
namespace {

// Constants are held as doubles: up to this size they are exact, and the sum of two does not
// overflow.
constexpr std::int64_t kExact = std::int64_t{1} << 53;
bool is_exact(std::int64_t value) { return value >= -kExact && value <= kExact; }

struct Sum {
  ExprRef terms = nullptr; // null: none
  std::int64_t constant = 0;
};

const Scalar *operation_of(ExprRef expr, ScalarOp op) {
  const Scalar *scalar = std::get_if<Scalar>(&expr->node);
  return scalar != nullptr && scalar->op == op ? scalar : nullptr;
}

// expr = terms + constant.
Sum split(ExprRef expr) {
  std::int64_t value = 0;
  if (is_constant(expr, &value))
    return is_exact(value) ? Sum{nullptr, value} : Sum{expr, 0};
  const Scalar *add = operation_of(expr, ScalarOp::Add);
  const bool ends_constant = add != nullptr && is_constant(add->args[1], &value) && is_exact(value);
  return ends_constant ? Sum{add->args[0], value} : Sum{expr, 0};
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  if (__builtin_mul_overflow(a, b, &value) || !is_exact(value))
    return std::nullopt;
  return value;
}

// The constant of x * constant.
const Scalar *scaled(ExprRef expr, ScalarOp op, std::int64_t *constant) {
  const Scalar *scalar = operation_of(expr, op);
  return scalar != nullptr && is_constant(scalar->args[1], constant) ? scalar : nullptr;
}

bool is_divisible(ExprRef expr, std::int64_t by) {
  std::int64_t value = 0;
  if (is_constant(expr, &value))
    return value % by == 0;
  for (const ScalarOp op : {ScalarOp::Add, ScalarOp::Sub}) {
    const Scalar *sum = operation_of(expr, op);
    if (sum != nullptr)
      return is_divisible(sum->args[0], by) && is_divisible(sum->args[1], by);
  }
  const Scalar *mul = operation_of(expr, ScalarOp::Mul);
  return mul != nullptr && (is_divisible(mul->args[0], by) || is_divisible(mul->args[1], by));
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

} // namespace

ExprRef Builder::sum(ExprRef terms, std::int64_t constant, Type type) {
  if (!is_exact(constant))
    return nullptr;
  if (terms == nullptr)
    return real(static_cast<double>(constant), type);
  if (constant == 0)
    return terms;
  return operation(ScalarOp::Add, {terms, real(static_cast<double>(constant), type)});
}

ExprRef Builder::fold_integer(ScalarOp op, ExprRef a, ExprRef b) {
  std::int64_t by = 0;
  switch (op) {
  case ScalarOp::Add:
  case ScalarOp::Sub:
    return fold_sum(op, a, b);
  case ScalarOp::Mul:
    return is_constant(a) ? fold_product(b, a) : fold_product(a, b);
  case ScalarOp::Div:
    return is_constant(b, &by) && by > 0 ? fold_quotient(a, by) : nullptr;
  case ScalarOp::Mod:
    return is_constant(b, &by) && by > 0 ? fold_remainder(a, by) : nullptr;
  default:
    return fold_order(op, a, b);
  }
}

ExprRef Builder::fold_sum(ScalarOp op, ExprRef a, ExprRef b) {
  const Sum left = split(a);
  const Sum right = split(b);
  const bool is_add = op == ScalarOp::Add;
  const std::int64_t constant =
      is_add ? left.constant + right.constant : left.constant - right.constant;
  if (right.terms == nullptr)
    return sum(left.terms, constant, a->type);
  if (!is_add && left.terms != nullptr && is_same(left.terms, right.terms))
    return sum(nullptr, constant, a->type);
  if (left.terms != nullptr)
    return sum(operation(op, {left.terms, right.terms}), constant, a->type);
  if (is_add)
    return sum(right.terms, constant, a->type);
  const ExprRef from = sum(nullptr, constant, a->type);
  return from == nullptr ? nullptr : operation(op, {from, right.terms});
}

ExprRef Builder::fold_product(ExprRef a, ExprRef b) {
  std::int64_t factor = 0;
  if (!is_constant(b, &factor) || is_constant(a))
    return nullptr;
  if (factor == 0)
    return b;
  if (factor == 1)
    return a;
  const Sum parts = split(a);
  const auto constant = product(parts.constant, factor);
  if (!constant)
    return nullptr;
  ExprRef terms = parts.terms;
  std::int64_t inner = 1;
  if (const Scalar *mul = scaled(terms, ScalarOp::Mul, &inner))
    terms = mul->args[0];
  const auto scale = product(inner, factor);
  if (!scale)
    return nullptr;
  if (*scale == 1)
    return sum(terms, *constant, a->type);
  return sum(operation(ScalarOp::Mul, {terms, real(static_cast<double>(*scale), a->type)}),
             *constant, a->type);
}

ExprRef Builder::fold_quotient(ExprRef a, std::int64_t by) {
  if (by == 1)
    return a;
  if (is_divisible(a, by))
    return divided(a, by);
  const Sum parts = split(a);
  if (parts.terms != nullptr && is_divisible(parts.terms, by) && is_index_arithmetic(a)) {
    const ExprRef constant = sum(nullptr, floor_div(parts.constant, by), a->type);
    return add(divided(parts.terms, by), constant);
  }
  std::int64_t inner = 0;
  if (const Scalar *div = scaled(a, ScalarOp::Div, &inner); div != nullptr && inner > 0) {
    const auto both = product(inner, by);
    if (both)
      return scalar(ScalarOp::Div, {div->args[0], real(static_cast<double>(*both), a->type)});
  }
  if (scaled(a, ScalarOp::Mod, &inner) != nullptr && inner > 0 && inner <= by)
    return real(0, a->type);
  return nullptr;
}

ExprRef Builder::fold_remainder(ExprRef a, std::int64_t by) {
  if (by == 1 || is_divisible(a, by))
    return real(0, a->type);
  const Sum parts = split(a);
  if (parts.terms != nullptr && is_divisible(parts.terms, by) && is_index_arithmetic(a)) {
    return sum(nullptr, parts.constant - floor_div(parts.constant, by) * by, a->type);
  }
  std::int64_t inner = 0;
  const Scalar *mod = scaled(a, ScalarOp::Mod, &inner);
  if (mod == nullptr || inner <= 0)
    return nullptr;
  if (inner <= by)
    return a;
  return inner % by == 0
             ? scalar(ScalarOp::Mod, {mod->args[0], real(static_cast<double>(by), a->type)})
             : nullptr;
}

// Comparisons, minima and maxima of x + c and x + d.
ExprRef Builder::fold_order(ScalarOp op, ExprRef a, ExprRef b) {
  const bool picks = op == ScalarOp::Min || op == ScalarOp::Max;
  if (!picks && !row(op).is_comparison)
    return nullptr;
  const Sum left = split(a);
  const Sum right = split(b);
  if (left.terms == nullptr || right.terms == nullptr || !is_same(left.terms, right.terms))
    return nullptr;
  if (picks)
    return (left.constant < right.constant) == (op == ScalarOp::Min) ? a : b;
  return fold_constants(
      op, {sum(nullptr, left.constant, a->type), sum(nullptr, right.constant, a->type)});
}

ExprRef Builder::divided(ExprRef expr, std::int64_t by) {
  std::int64_t value = 0;
  if (is_constant(expr, &value))
    return real(static_cast<double>(value / by), expr->type);
  const Scalar &node = std::get<Scalar>(expr->node);
  if (node.op != ScalarOp::Mul)
    return scalar(node.op, {divided(node.args[0], by), divided(node.args[1], by)});
  if (is_divisible(node.args[1], by))
    return mul(node.args[0], divided(node.args[1], by));
  return mul(divided(node.args[0], by), node.args[1]);
}

bool Builder::is_index_arithmetic(ExprRef expr) const {
  if (std::holds_alternative<Load>(expr->node) || std::holds_alternative<Cast>(expr->node))
    return false;
  if (const VarRef *ref = std::get_if<VarRef>(&expr->node))
    return !data_variables_.contains(ref->var);
  for (const ExprRef child : children(expr))
    if (!is_index_arithmetic(child))
      return false;
  return true;
}

} // namespace tilefuse::kernel
