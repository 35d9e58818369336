// SPDX-License-Identifier: Apache-2.0
#include "model/oracle/bounded_expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "nest/evaluate/eval_expr.h"
#include "target/coarse.h"
#include "target/dtype_traits.h"

namespace tilefuse::nest {
namespace {

using program::Expr;

constexpr std::size_t kMostArguments = 3;
constexpr double kLargestFloat = std::numeric_limits<float>::max();

// Half units in the last place by which an operation may miss (OpenCL C 1.2, table of section 7.4).
double half_ulps(ScalarOp op) {
  switch (op) {
  case ScalarOp::Div:
    return 5;
  case ScalarOp::Sqrt:
  case ScalarOp::Exp:
  case ScalarOp::Log:
    return 6;
  case ScalarOp::Sin:
  case ScalarOp::Cos:
    return 8;
  case ScalarOp::Tanh:
    return 10;
  case ScalarOp::Pow:
  case ScalarOp::Erf:
    return 32;
  default:
    return 1;
  }
}

bool is_exact(const Expr &expr) {
  return !is_float(expr.type) || row(expr.op).is_comparison ||
         is_one_of(expr.op,
                   {ScalarOp::Neg, ScalarOp::Abs, ScalarOp::Floor, ScalarOp::Ceil, ScalarOp::Round,
                    ScalarOp::Max, ScalarOp::Min, ScalarOp::Mod, ScalarOp::Select,
                    ScalarOp::RoundF16, ScalarOp::RoundBF16, ScalarOp::Coarse});
}

// What an operation may miss beyond half_ulps where it is coarse: a part of the result, of erf also
// of its distance from 1. Quotients stay within half_ulps.
double coarse_error(ScalarOp op, double value, Coarse allowed) {
  if (!is_coarse(op, allowed) || op == ScalarOp::Div)
    return 0;
  const double size = std::fabs(value);
  return kCoarseError * (op == ScalarOp::Erf ? std::min(size, 1 - size) : size);
}

// How far apart two results are; results that are both no number agree.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  const double apart = std::fabs(a - b);
  return std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
}

// What a result may lack below the normal numbers: a device may flush them.
double smallest(DType type) { return traits(traits(type).value).underflow; }

Bounded bounded(const Expr &expr, const ExprPoint &point, Coarse coarse);

Bounded evaluate_cast(const Expr &expr, const ExprPoint &point, Coarse coarse) {
  const Bounded from =
      bounded(expr.args[0], point, allowed_below_cast(expr.args[0].type, expr.type, coarse));
  const DType type = expr.args[0].type;
  const bool rounds = expr.type == DType::F32 && program::loses_digits(type, expr.type);
  if (is_float(expr.type) && !rounds)
    return {from.value, from.error + storage_error(expr.type, from.value)};
  const double value = cast_value(from.value, type, expr.type);
  const double low = cast_value(from.value - from.error, type, expr.type);
  const double high = cast_value(from.value + from.error, type, expr.type);
  return {value, std::max(distance(value, low), distance(value, high))};
}

// An integer as its type holds it: exact arithmetic wraps, an interval that would is unknown.
Bounded wrapped_to(DType type, Bounded exact) {
  const auto held = [&](double value) { return cast_to_integer(value, DType::I64, type); };
  const double low = exact.value - exact.error;
  const double high = exact.value + exact.error;
  if (exact.error > 0 && (held(low) != low || held(high) != high))
    exact.error = std::numeric_limits<double>::infinity();
  exact.value = held(exact.value);
  return exact;
}

Bounded evaluate_call(const Expr &expr, const ExprPoint &point, Coarse coarse) {
  std::array<Bounded, kMostArguments> args{};
  std::array<double, kMostArguments> at{};
  const std::size_t count = expr.args.size();
  std::size_t exact = 0; // a bit for each
  for (std::size_t k = 0; k < count; ++k) {
    args[k] = bounded(expr.args[k], point, allowed_below(expr.op, coarse));
    at[k] = args[k].value;
    exact |= static_cast<std::size_t>(args[k].error == 0) << k;
  }
  if (is_bitwise(expr.op))
    return {number_of(evaluate_bits(expr.op, expr.type, whole_of(at[0], expr.type),
                                    whole_of(at[count - 1], expr.type)),
                      expr.type),
            0};
  const bool integer = !is_float(expr.args.back().type);
  const std::span<const double> used(at.data(), count);
  Bounded result{evaluate(expr.op, used, integer), 0};
  for (std::size_t corner = 0; corner < (std::size_t{1} << count); ++corner) {
    if ((corner & exact) != 0)
      continue; // both ends are one
    for (std::size_t k = 0; k < count; ++k)
      at[k] = args[k].value + ((corner >> k) & 1 ? args[k].error : -args[k].error);
    result.error = std::max(result.error, distance(result.value, evaluate(expr.op, used, integer)));
  }
  if (!is_float(expr.type) && expr.type != DType::Bool)
    return wrapped_to(expr.type, result);
  if (rounded_type(expr.op))
    return result;
  if (expr.type != DType::F64 && std::fabs(result.value) + result.error > kLargestFloat)
    result.error = std::numeric_limits<double>::infinity();
  if (!is_exact(expr) && std::isfinite(result.value))
    result.error +=
        half_ulps(expr.op) * unit_roundoff(expr.type) * (std::fabs(result.value) + result.error) +
        smallest(expr.type) + coarse_error(expr.op, result.value, coarse);
  return result;
}

Bounded bounded(const Expr &expr, const ExprPoint &point, Coarse coarse) {
  if (is_half(expr.type))
    coarse = Coarse::All;
  switch (expr.kind) {
  case Expr::Kind::Const:
    return {expr.value, storage_error(expr.type, expr.value)};
  case Expr::Kind::Operand:
    return point.operands.at(static_cast<std::size_t>(expr.operand));
  case Expr::Kind::Acc:
    return point.acc;
  case Expr::Kind::Cast:
    return evaluate_cast(expr, point, coarse);
  case Expr::Kind::Call:
    return evaluate_call(expr, point, coarse);
  }
  internal_error("unknown kind of expression", __FILE__, __LINE__);
}

} // namespace

double unit_roundoff(DType type) {
  if (!is_float(type))
    return 0;
  return std::ldexp(1, -traits(traits(type).value).digits);
}

double storage_error(DType type, double value) {
  if (!is_float(type) || !std::isfinite(value))
    return 0;
  const DTypeTraits &row = traits(type);
  return std::ldexp(std::fabs(value), -row.digits) + row.underflow;
}

Bounded evaluate_bounded(const Expr &expr, const ExprPoint &point) {
  return bounded(expr, point, Coarse::None);
}

} // namespace tilefuse::nest
