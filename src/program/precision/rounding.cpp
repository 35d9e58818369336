// SPDX-License-Identifier: Apache-2.0
#include "program/precision/rounding.h"

#include <algorithm>

#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

// What stands below a cast; bounds and zero points from the inside out.
std::optional<Rounding> parse(const Expr &expr, DType type, const ConstantOf &constant_of) {
  if (expr.kind != Expr::Kind::Call || expr.type != DType::F32)
    return std::nullopt;
  if (expr.op == ScalarOp::Round)
    return Rounding{&expr.args[0], single_grid(0), lowest(type), highest(type)};
  if (expr.args.size() != 2)
    return std::nullopt;
  const std::optional<Grid> number = constant_of(expr.args[1]);
  std::optional<Rounding> inner = number ? parse(expr.args[0], type, constant_of) : std::nullopt;
  if (!inner)
    return std::nullopt;
  switch (expr.op) {
  case ScalarOp::Add: {
    const std::optional<Grid> zero = zip(inner->zero, *number, std::plus<>());
    if (!zero || inner->low != lowest(type) || inner->high != highest(type))
      return std::nullopt;
    inner->zero = *zero;
    return inner;
  }
  case ScalarOp::Max:
    if (!number->is_single())
      return std::nullopt;
    inner->low = std::max(inner->low, number->single());
    return inner;
  case ScalarOp::Min:
    if (!number->is_single())
      return std::nullopt;
    inner->high = std::min(inner->high, number->single());
    return inner;
  default:
    return std::nullopt;
  }
}

} // namespace

std::optional<Rounding> as_rounding(const Expr &expr, const ConstantOf &constant_of) {
  if (expr.kind != Expr::Kind::Cast || (expr.type != DType::I8 && expr.type != DType::U8))
    return std::nullopt;
  return parse(expr.args[0], expr.type, constant_of);
}

Rounding shifted(Rounding rounding, double by) {
  rounding.zero = each(std::move(rounding.zero), [by](double zero) { return zero + by; });
  rounding.low += by;
  rounding.high += by;
  return rounding;
}

Expr rounded(Program &program, Operands &operands, Expr value, const Rounding &rounding,
             DType type) {
  const auto number = [](double v) { return constant(v, DType::F32); };
  value = call(ScalarOp::Round, {std::move(value)});
  if (!is_single(rounding.zero, 0))
    value =
        call(ScalarOp::Add, {std::move(value), operands.read(program, rounding.zero, DType::F32)});
  if (rounding.high < highest(type))
    value = call(ScalarOp::Min, {std::move(value), number(rounding.high)});
  if (rounding.low > lowest(type))
    value = call(ScalarOp::Max, {std::move(value), number(rounding.low)});
  return cast(std::move(value), type);
}

} // namespace tilefuse::program
