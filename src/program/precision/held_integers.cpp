// SPDX-License-Identifier: Apache-2.0
#include "program/precision/held_integers.h"

#include <optional>

#include "program/precision/rounding.h"

namespace tilefuse::program {
namespace {

std::optional<Grid> number(const Expr &expr) {
  return expr.kind == Expr::Kind::Const ? std::optional(single_grid(expr.value)) : std::nullopt;
}

const Expr *below_cast(const Expr *expr, DType type) {
  return expr->kind == Expr::Kind::Cast && expr->type == type ? &expr->args[0] : expr;
}

// `expr`, an f32, as what was rounded.
std::optional<Expr> held(const Expr &expr) {
  if (expr.kind != Expr::Kind::Cast || expr.type != DType::F32)
    return std::nullopt;
  const Expr *whole = &expr.args[0];
  double shift = 0;
  if (whole->kind == Expr::Kind::Call && whole->op == ScalarOp::Add && whole->type == DType::I32 &&
      whole->args[1].kind == Expr::Kind::Const) {
    shift = whole->args[1].value;
    whole = &whole->args[0];
  }
  const std::optional<Rounding> rounding = as_rounding(*below_cast(whole, DType::I32), number);
  if (!rounding || !rounding->zero.is_single())
    return std::nullopt;
  const double zero = rounding->zero.single();
  const auto bound = [&](double limit) { return constant(limit - zero, DType::F32); };
  Expr value = call(ScalarOp::Max, {held_integers(*rounding->value), bound(rounding->low)});
  value = call(ScalarOp::Round, {call(ScalarOp::Min, {std::move(value), bound(rounding->high)})});
  if (zero + shift == 0)
    return value;
  return call(ScalarOp::Add, {std::move(value), constant(zero + shift, DType::F32)});
}

} // namespace

Expr held_integers(const Expr &expr) {
  if (std::optional<Expr> value = held(expr))
    return *std::move(value);
  Expr copy = expr;
  for (Expr &arg : copy.args)
    arg = held_integers(arg);
  return copy;
}

} // namespace tilefuse::program
