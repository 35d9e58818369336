// SPDX-License-Identifier: Apache-2.0
#include "target/dtype.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace tilefuse {
namespace {

constexpr std::array<ScalarOpRow, 39> kOps = {{
    {ScalarOp::Neg, "neg", "", 1, false},
    {ScalarOp::Abs, "abs", "", 1, false},
    {ScalarOp::Exp, "exp", "", 1, false},
    {ScalarOp::Log, "log", "", 1, false},
    {ScalarOp::Sqrt, "sqrt", "", 1, false},
    {ScalarOp::Tanh, "tanh", "", 1, false},
    {ScalarOp::Floor, "floor", "", 1, false},
    {ScalarOp::Ceil, "ceil", "", 1, false},
    {ScalarOp::Round, "round", "", 1, false},
    {ScalarOp::Erf, "erf", "", 1, false},
    {ScalarOp::Sin, "sin", "", 1, false},
    {ScalarOp::Cos, "cos", "", 1, false},
    {ScalarOp::RoundF16, "round_f16", "", 1, false},
    {ScalarOp::RoundBF16, "round_bf16", "", 1, false},
    {ScalarOp::Coarse, "coarse", "", 1, false},
    {ScalarOp::Not, "not", "", 1, true},
    {ScalarOp::BitNot, "bit_not", "", 1, false},
    {ScalarOp::Add, "add", "+", 2, false, 5},
    {ScalarOp::Sub, "sub", "-", 2, false, 5},
    {ScalarOp::Mul, "mul", "*", 2, false, 6},
    {ScalarOp::Div, "div", "/", 2, false, 6},
    {ScalarOp::Max, "max", "", 2, false},
    {ScalarOp::Min, "min", "", 2, false},
    {ScalarOp::Pow, "pow", "", 2, false},
    {ScalarOp::Mod, "mod", "%", 2, false, 6},
    {ScalarOp::Lt, "lt", "<", 2, true, 4},
    {ScalarOp::Le, "le", "<=", 2, true, 4},
    {ScalarOp::Gt, "gt", ">", 2, true, 4},
    {ScalarOp::Ge, "ge", ">=", 2, true, 4},
    {ScalarOp::Eq, "eq", "==", 2, true, 3},
    {ScalarOp::Ne, "ne", "!=", 2, true, 3},
    {ScalarOp::And, "and", "&&", 2, true, 2},
    {ScalarOp::Or, "or", "||", 2, true, 1},
    {ScalarOp::BitAnd, "bit_and", "", 2, false},
    {ScalarOp::BitOr, "bit_or", "", 2, false},
    {ScalarOp::BitXor, "bit_xor", "", 2, false},
    {ScalarOp::BitLeft, "bit_left", "", 2, false},
    {ScalarOp::BitRight, "bit_right", "", 2, false},
    {ScalarOp::Select, "select", "", 3, false},
}};

double evaluate_unary(ScalarOp op, double a) {
  switch (op) {
  case ScalarOp::Neg:
    return -a;
  case ScalarOp::Abs:
    return std::fabs(a);
  case ScalarOp::Exp:
    return std::exp(a);
  case ScalarOp::Log:
    return std::log(a);
  case ScalarOp::Sqrt:
    return std::sqrt(a);
  case ScalarOp::Tanh:
    return std::tanh(a);
  case ScalarOp::Floor:
    return std::floor(a);
  case ScalarOp::Ceil:
    return std::ceil(a);
  case ScalarOp::Round:
    return std::nearbyint(a);
  case ScalarOp::Erf:
    return std::erf(a);
  case ScalarOp::Sin:
    return std::sin(a);
  case ScalarOp::Cos:
    return std::cos(a);
  case ScalarOp::RoundF16:
    return nearest(a, DType::F16);
  case ScalarOp::RoundBF16:
    return nearest(a, DType::BF16);
  case ScalarOp::Coarse:
    return a;
  case ScalarOp::Not:
    return a == 0 ? 1 : 0;
  default:
    internal_error("a unary scalar operation expected", __FILE__, __LINE__);
  }
}

double evaluate_binary(ScalarOp op, double a, double b, bool integer) {
  switch (op) {
  case ScalarOp::Add:
    return a + b;
  case ScalarOp::Sub:
    return a - b;
  case ScalarOp::Mul:
    return a * b;
  case ScalarOp::Div:
    return integer ? (b == 0 ? 0 : std::trunc(a / b)) : a / b;
  case ScalarOp::Max:
    return b > a ? b : a;
  case ScalarOp::Min:
    return b < a ? b : a;
  case ScalarOp::Pow:
    return std::pow(a, b);
  case ScalarOp::Mod:
    return integer && b == 0 ? 0 : std::fmod(a, b);
  case ScalarOp::Lt:
    return a < b;
  case ScalarOp::Le:
    return a <= b;
  case ScalarOp::Gt:
    return a > b;
  case ScalarOp::Ge:
    return a >= b;
  case ScalarOp::Eq:
    return a == b;
  case ScalarOp::Ne:
    return a != b;
  case ScalarOp::And:
    return a != 0 && b != 0;
  case ScalarOp::Or:
    return a != 0 || b != 0;
  default:
    internal_error("a binary scalar operation expected", __FILE__, __LINE__);
  }
}

// NaN becomes 0, and what lies outside 64 bits its nearest bound.
std::int64_t to_integer(double value) {
  constexpr double kLimit = 9223372036854775808.0; // 2^63
  if (std::isnan(value))
    return 0;
  if (value >= kLimit)
    return std::numeric_limits<std::int64_t>::max();
  return value < -kLimit ? std::numeric_limits<std::int64_t>::min()
                         : static_cast<std::int64_t>(value);
}

} // namespace

const ScalarOpRow &row(ScalarOp op) { return kOps[static_cast<std::size_t>(op)]; }

std::optional<ScalarOp> parse_scalar_op(std::string_view name) {
  for (const ScalarOpRow &candidate : kOps)
    if (candidate.name == name)
      return candidate.op;
  return std::nullopt;
}

std::optional<ScalarOp> parse_infix(std::string_view text) {
  for (const ScalarOpRow &candidate : kOps)
    if (candidate.binding > 0 && candidate.infix == text)
      return candidate.op;
  return std::nullopt;
}

bool is_bitwise(ScalarOp op) {
  return op == ScalarOp::BitNot || (op >= ScalarOp::BitAnd && op <= ScalarOp::BitRight);
}

std::int64_t evaluate_bits(ScalarOp op, DType type, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  const std::uint64_t amount = y & (static_cast<std::uint64_t>(size_bytes(type)) * 8 - 1);
  const auto held = [&](std::uint64_t bits) {
    return wrapped(static_cast<std::int64_t>(bits), type);
  };
  switch (op) {
  case ScalarOp::BitNot:
    return held(~x);
  case ScalarOp::BitAnd:
    return held(x & y);
  case ScalarOp::BitOr:
    return held(x | y);
  case ScalarOp::BitXor:
    return held(x ^ y);
  case ScalarOp::BitLeft:
    return held(x << amount);
  case ScalarOp::BitRight:
    return held(type == DType::U64 ? x >> amount : static_cast<std::uint64_t>(a >> amount));
  default:
    internal_error("a bit operation expected", __FILE__, __LINE__);
  }
}

double evaluate(ScalarOp op, std::span<const double> arguments, bool integer) {
  TILEFUSE_CHECK(static_cast<int>(arguments.size()) == row(op).arity,
                 "scalar operation with a wrong argument count");
  if (is_bitwise(op))
    return static_cast<double>(
        evaluate_bits(op, DType::I64, to_integer(arguments.front()), to_integer(arguments.back())));
  switch (row(op).arity) {
  case 1:
    return evaluate_unary(op, arguments[0]);
  case 2:
    return evaluate_binary(op, arguments[0], arguments[1], integer);
  default:
    return arguments[0] != 0 ? arguments[1] : arguments[2];
  }
}

} // namespace tilefuse
