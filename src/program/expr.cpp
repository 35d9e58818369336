// SPDX-License-Identifier: Apache-2.0
#include "program/expr.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "target/dtype_traits.h"

namespace tilefuse::program {
namespace {

using Kind = Expr::Kind;

bool is_logical(ScalarOp op) {
  return op == ScalarOp::And || op == ScalarOp::Or || op == ScalarOp::Not;
}

// Functions whose value is not an integer even where the argument is.
bool is_float_only(ScalarOp op) {
  return is_one_of(op, {ScalarOp::Exp, ScalarOp::Log, ScalarOp::Sqrt, ScalarOp::Tanh, ScalarOp::Erf,
                        ScalarOp::Sin, ScalarOp::Cos});
}

bool is_rounding(ScalarOp op) {
  return is_one_of(op, {ScalarOp::Floor, ScalarOp::Ceil, ScalarOp::Round});
}

// Binary digits of the significand.
std::int64_t digits(DType type) {
  constexpr std::int64_t kDoubleDigits = 53;
  return is_float(type) ? traits(type).digits : kDoubleDigits;
}

// The type that `values` meet in.
DType promoted(std::span<const Expr> values) {
  std::optional<DType> type;
  bool fraction = false;
  for (const Expr &value : values) {
    if (value.kind == Kind::Const)
      fraction |= value.value != std::floor(value.value);
    else
      type = type ? promote(*type, value.type) : value.type;
  }
  if (type)
    return fraction && !is_float(*type) ? DType::F32 : *type;
  type = values.front().type;
  for (const Expr &value : values)
    type = promote(*type, value.type);
  return *type;
}

// The operation on truth values that a bit operation is; nothing for shifts.
std::optional<ScalarOp> on_bool(ScalarOp op) {
  switch (op) {
  case ScalarOp::BitNot:
    return ScalarOp::Not;
  case ScalarOp::BitAnd:
    return ScalarOp::And;
  case ScalarOp::BitOr:
    return ScalarOp::Or;
  case ScalarOp::BitXor:
    return ScalarOp::Ne;
  default:
    return std::nullopt;
  }
}

Expr bitwise(ScalarOp op, std::vector<Expr> args) {
  const DType type = promoted(args);
  const std::optional<ScalarOp> logical = on_bool(op);
  if (type == DType::Bool && logical)
    return call(*logical, std::move(args));
  const bool literal = std::all_of(args.begin(), args.end(),
                                   [](const Expr &arg) { return arg.kind == Kind::Const; });
  if (type == DType::Bool || (is_float(type) && !literal))
    throw Error(ErrorCode::Type,
                fmt::format("{} takes integers, got {}", row(op).name, to_string(type)));
  const DType whole = is_float(type) ? DType::I32 : type;
  for (Expr &arg : args)
    arg = cast(std::move(arg), whole);
  Expr expr;
  expr.kind = Kind::Call;
  expr.type = whole;
  expr.op = op;
  expr.args = std::move(args);
  return expr;
}

} // namespace

DType promote(DType a, DType b) {
  if (is_float(a) != is_float(b))
    return is_float(a) ? a : b;
  if ((a == DType::Bool) != (b == DType::Bool))
    return a == DType::Bool ? b : a;
  return size_bytes(b) > size_bytes(a) ? b : a;
}

Expr operand(int position, DType type) {
  return {.kind = Kind::Operand, .type = type, .operand = position};
}

Expr acc(DType type) { return {.kind = Kind::Acc, .type = type}; }

Expr constant(double value, DType type) {
  return {.kind = Kind::Const, .type = type, .value = value};
}

Expr call(ScalarOp op, std::vector<Expr> args) {
  const ScalarOpRow &info = row(op);
  if (static_cast<int>(args.size()) != info.arity)
    throw Error(ErrorCode::Type, fmt::format("{} takes {} argument{}, got {}", info.name,
                                             info.arity, info.arity == 1 ? "" : "s", args.size()));
  if (is_bitwise(op))
    return bitwise(op, std::move(args));
  const std::size_t first = op == ScalarOp::Select ? 1 : 0;
  DType type = DType::Bool;
  if (!is_logical(op))
    type = promoted(std::span(args).subspan(first));
  if ((is_float_only(op) && !is_float(type)) || rounded_type(op))
    type = DType::F32;
  for (std::size_t i = 0; i < args.size(); ++i)
    args[i] = cast(std::move(args[i]), i < first ? DType::Bool : type);
  if (is_rounding(op) && !is_float(type))
    return args.front();
  Expr expr;
  expr.kind = Kind::Call;
  expr.type = info.is_comparison ? DType::Bool : type;
  expr.op = op;
  expr.args = std::move(args);
  return expr;
}

Expr cast(Expr value, DType type) {
  if (value.type == type)
    return value;
  if (value.kind == Kind::Const && type == DType::Bool)
    return constant(value.value != 0 ? 1 : 0, type);
  const bool exact = is_float(type) || value.value == std::floor(value.value);
  if (value.kind == Kind::Const && exact)
    return constant(value.value, type);
  Expr expr;
  expr.kind = Kind::Cast;
  expr.type = type;
  expr.args.push_back(std::move(value));
  return expr;
}

bool loses_digits(DType from, DType to) {
  if (is_float(from))
    return digits(from) > digits(to) || (is_float(to) && highest(from) > highest(to));
  return size_bytes(from) * 8 > digits(to);
}

Expr converted(Expr value, DType type) {
  const std::optional<ScalarOp> rounding = rounding_to(type);
  if (!rounding || !loses_digits(value.type, type))
    return cast(std::move(value), type);
  if (value.kind == Kind::Const)
    return constant(nearest(value.value, type), type);
  return cast(call(*rounding, {std::move(value)}), type);
}

} // namespace tilefuse::program
