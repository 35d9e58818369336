// SPDX-License-Identifier: Apache-2.0
#include "program/value_range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

ValueRange product(const ValueRange &a, const ValueRange &b) {
  const double most = largest(a) * largest(b);
  if (!std::isfinite(most))
    return {-kAny, kAny};
  const std::array all = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::min_element(all.begin(), all.end()), *std::max_element(all.begin(), all.end())};
}

ValueRange of_call(const Expr &expr) {
  const ValueRange a = value_range(expr.args[0]);
  const ValueRange b = expr.args.size() > 1 ? value_range(expr.args[1]) : ValueRange{};
  switch (expr.op) {
  case ScalarOp::Add:
    return {a.low + b.low, a.high + b.high};
  case ScalarOp::Sub:
    return {a.low - b.high, a.high - b.low};
  case ScalarOp::Mul:
    return product(a, b);
  case ScalarOp::Max:
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  case ScalarOp::Min:
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  case ScalarOp::Neg:
    return {-a.high, -a.low};
  case ScalarOp::Abs:
    return {0, largest(a)};
  case ScalarOp::Round:
    return {std::nearbyint(a.low), std::nearbyint(a.high)};
  default:
    return {-kAny, kAny};
  }
}

} // namespace

double largest(const ValueRange &range) {
  return std::max(std::fabs(range.low), std::fabs(range.high));
}

ValueRange value_range(const Expr &expr) {
  if (expr.kind == Expr::Kind::Const)
    return {expr.value, expr.value};
  ValueRange range{-kAny, kAny};
  if (expr.kind == Expr::Kind::Cast)
    range = value_range(expr.args[0]);
  if (expr.kind == Expr::Kind::Call)
    range = of_call(expr);
  if (is_float(expr.type))
    return range;
  const double low = lowest(expr.type);
  const double high = highest(expr.type);
  const bool wraps = range.low < low || range.high > high;
  return wraps ? ValueRange{low, high} : range;
}

} // namespace tilefuse::program
