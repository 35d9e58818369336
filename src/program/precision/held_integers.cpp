// SPDX-License-Identifier: Apache-2.0
#include "program/precision/held_integers.h"

#include <cmath>
#include <optional>

#include "program/precision/rounding.h"
#include "program/value_range.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

constexpr double kExact = 0x1p22; // sums with bytes are exact

std::optional<Grid> number(const Expr &expr) {
  return expr.kind == Expr::Kind::Const ? std::optional(single_grid(expr.value)) : std::nullopt;
}

const Expr *below_cast(const Expr *expr, DType type) {
  return expr->kind == Expr::Kind::Cast && expr->type == type ? &expr->args[0] : expr;
}

// What was rounded, within the bounds of the integers, which count from their zero point.
Expr within(const Rounding &rounding) {
  const double zero = rounding.zero.single();
  Expr value = held_integers(*rounding.value);
  const ValueRange range = value_range(value);
  if (range.low < rounding.low - zero || range.high > rounding.high - zero) {
    value = call(ScalarOp::Max, {std::move(value), constant(rounding.low - zero, DType::F32)});
    value = call(ScalarOp::Min, {std::move(value), constant(rounding.high - zero, DType::F32)});
  }
  return call(ScalarOp::Round, {std::move(value)});
}

Expr plus(Expr value, double shift) {
  return shift == 0 ? value : call(ScalarOp::Add, {std::move(value), constant(shift, DType::F32)});
}

std::optional<Rounding> single_rounding(const Expr &expr) {
  std::optional<Rounding> rounding = as_rounding(expr, number);
  return rounding && rounding->zero.is_single() ? rounding : std::nullopt;
}

// `expr`, an f32, of integers: what was rounded, or an operand.
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
  whole = below_cast(whole, DType::I32);
  if (const std::optional<Rounding> rounding = single_rounding(*whole))
    return plus(within(*rounding), rounding->zero.single() + shift);
  if (whole->kind != Expr::Kind::Operand || !is_byte(whole->type) || std::fabs(shift) > kExact)
    return std::nullopt;
  return plus(cast(*whole, DType::F32), shift);
}

// `expr`, of bytes that count from another number than 0.
std::optional<Expr> limited(const Expr &expr) {
  const std::optional<Rounding> rounding = single_rounding(expr);
  if (!rounding || is_single(rounding->zero, 0))
    return std::nullopt;
  return cast(plus(within(*rounding), rounding->zero.single()), expr.type);
}

} // namespace

Expr held_integers(const Expr &expr) {
  for (const auto form : {held, limited})
    if (std::optional<Expr> value = form(expr))
      return *std::move(value);
  Expr copy = expr;
  for (Expr &arg : copy.args)
    arg = held_integers(arg);
  return copy;
}

} // namespace tilefuse::program
