// SPDX-License-Identifier: Apache-2.0
#include "kernel/simulate_math.h"

#include <array>
#include <cmath>

#include "kernel/rules.h"

namespace tilefuse::kernel::simulation {
namespace {

Cell whole(std::int64_t value) {
  Cell cell{};
  cell.whole = value;
  return cell;
}

Cell real(double value) {
  Cell cell{};
  cell.real = value;
  return cell;
}

std::int64_t wrapped(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

Cell apply_integer(ScalarOp op, std::int64_t a, std::int64_t b, bool &defined) {
  const bool divides = op == ScalarOp::Div || op == ScalarOp::Mod;
  defined = !divides || b != 0;
  if (!defined)
    return whole(0);
  if (divides && b == -1)
    return whole(op == ScalarOp::Div ? wrapped(0 - bits(a)) : 0);
  switch (op) {
  case ScalarOp::Neg:
    return whole(wrapped(0 - bits(a)));
  case ScalarOp::Abs:
    return whole(a < 0 ? wrapped(0 - bits(a)) : a);
  case ScalarOp::Not:
    return whole(a == 0);
  case ScalarOp::Add:
    return whole(wrapped(bits(a) + bits(b)));
  case ScalarOp::Sub:
    return whole(wrapped(bits(a) - bits(b)));
  case ScalarOp::Mul:
    return whole(wrapped(bits(a) * bits(b)));
  case ScalarOp::Div:
    return whole(a / b);
  case ScalarOp::Mod:
    return whole(a % b);
  case ScalarOp::Max:
    return whole(b > a ? b : a);
  case ScalarOp::Min:
    return whole(b < a ? b : a);
  case ScalarOp::Lt:
    return whole(a < b);
  case ScalarOp::Le:
    return whole(a <= b);
  case ScalarOp::Gt:
    return whole(a > b);
  case ScalarOp::Ge:
    return whole(a >= b);
  case ScalarOp::Eq:
    return whole(a == b);
  case ScalarOp::Ne:
    return whole(a != b);
  case ScalarOp::And:
    return whole(a != 0 && b != 0);
  case ScalarOp::Or:
    return whole(a != 0 || b != 0);
  default:
    break;
  }
  const std::array args = {static_cast<double>(a), static_cast<double>(b)};
  const auto arity = static_cast<std::size_t>(row(op).arity);
  return whole(static_cast<std::int64_t>(
      narrowed(evaluate(op, std::span(args).first(arity), true), DType::I64)));
}

} // namespace

Cell cell_of(double value, DType elem) {
  return is_float(elem) ? real(value) : whole(static_cast<std::int64_t>(narrowed(value, elem)));
}

Cell apply(ScalarOp op, DType elem, std::span<const Cell> args, bool &defined) {
  defined = true;
  if (op == ScalarOp::Select)
    return args[0].whole != 0 ? args[1] : args[2];
  if (!is_float(elem))
    return apply_integer(op, args[0].whole, args.size() > 1 ? args[1].whole : 0, defined);
  const std::array values = {args[0].real, args.size() > 1 ? args[1].real : 0.0};
  const double value = evaluate(op, std::span(values).first(args.size()));
  return row(op).is_comparison ? whole(value != 0) : real(narrowed(value, elem));
}

Cell fma(DType elem, Cell a, Cell b, Cell c) {
  if (elem == DType::F64)
    return real(std::fma(a.real, b.real, c.real));
  const float value =
      std::fma(static_cast<float>(a.real), static_cast<float>(b.real), static_cast<float>(c.real));
  return real(narrowed(static_cast<double>(value), elem));
}

Cell convert(Cell value, DType from, DType to) {
  if (!is_float(from) && to == DType::I64)
    return value;
  const double number = is_float(from) ? value.real : static_cast<double>(value.whole);
  return is_float(to) ? real(narrowed(number, to))
                      : whole(static_cast<std::int64_t>(narrowed(number, to)));
}

} // namespace tilefuse::kernel::simulation
