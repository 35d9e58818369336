// SPDX-License-Identifier: Apache-2.0
#include "target/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse {
namespace {

struct DTypeRow {
  DType type;
  std::string_view name;
  std::int64_t bytes;
  bool is_float;
  DType accumulator;
};

constexpr std::array<DTypeRow, 9> kTypes = {{
    {DType::Bool, "bool", 1, false, DType::Bool},
    {DType::I8, "i8", 1, false, DType::I32},
    {DType::U8, "u8", 1, false, DType::I32},
    {DType::I32, "i32", 4, false, DType::I32},
    {DType::I64, "i64", 8, false, DType::I64},
    {DType::F16, "f16", 2, true, DType::F32},
    {DType::BF16, "bf16", 2, true, DType::F32},
    {DType::F32, "f32", 4, true, DType::F32},
    {DType::F64, "f64", 8, true, DType::F64},
}};

const DTypeRow &row(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

constexpr std::array<ScalarOpRow, 38> kOps = {{
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

template <class T> T read_at(const void *data, std::int64_t i) {
  T value;
  std::memcpy(&value,
              static_cast<const std::byte *>(data) + i * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T> void write_at(void *data, std::int64_t i, T value) {
  std::memcpy(static_cast<std::byte *>(data) + i * static_cast<std::int64_t>(sizeof(T)), &value,
              sizeof(T));
}

// NaN becomes 0, and what lies outside the type its nearest bound.
template <class T> T saturate(double value) {
  if (std::isnan(value))
    return 0;
  const double rounded = std::nearbyint(value);
  if (rounded <= static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(rounded);
}

// A double to the nearest float that keeps a later rounding to fewer bits exact: round to odd.
float to_float_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  return std::bit_cast<float>((away ? bits - 1 : bits) | 1U);
}

} // namespace

std::string_view to_string(DType type) { return row(type).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeRow &candidate : kTypes)
    if (candidate.name == name)
      return candidate.type;
  return std::nullopt;
}

std::int64_t size_bytes(DType type) { return row(type).bytes; }
bool is_float(DType type) { return row(type).is_float; }
DType accumulator_type(DType type) { return row(type).accumulator; }

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

std::optional<ScalarOp> rounding_to(DType type) {
  if (type == DType::F16)
    return ScalarOp::RoundF16;
  return type == DType::BF16 ? std::optional(ScalarOp::RoundBF16) : std::nullopt;
}

std::optional<DType> rounded_type(ScalarOp op) {
  if (op == ScalarOp::RoundF16)
    return DType::F16;
  return op == ScalarOp::RoundBF16 ? std::optional(DType::BF16) : std::nullopt;
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
    return held(static_cast<std::uint64_t>(a >> amount));
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

std::int64_t wrapped(std::int64_t value, DType type) {
  switch (type) {
  case DType::Bool:
    return value != 0 ? 1 : 0;
  case DType::I8:
    return static_cast<std::int8_t>(value);
  case DType::U8:
    return static_cast<std::uint8_t>(value);
  case DType::I32:
    return static_cast<std::int32_t>(value);
  default:
    return value;
  }
}

double nearest(double value, DType type) {
  std::int64_t bits = 0;
  store_element(&bits, type, 0, value);
  return load_element(&bits, type, 0);
}

double cast_to_integer(double value, DType from, DType to) {
  if (to == DType::Bool)
    return value != 0 ? 1 : 0;
  std::int64_t bits = 0;
  if (is_float(from)) {
    store_element(&bits, to, 0, std::trunc(value));
    return load_element(&bits, to, 0);
  }
  return static_cast<double>(wrapped(saturate<std::int64_t>(value), to));
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 31 ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U)
    return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U)
    return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) {
    // A subnormal half is a multiple of 2^-24.
    const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::nearbyint(scaled)));
  }
  const std::uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U)
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

double load_element(const void *data, DType type, std::int64_t i) {
  switch (type) {
  case DType::Bool:
    return read_at<std::uint8_t>(data, i) != 0 ? 1 : 0;
  case DType::I8:
    return read_at<std::int8_t>(data, i);
  case DType::U8:
    return read_at<std::uint8_t>(data, i);
  case DType::I32:
    return read_at<std::int32_t>(data, i);
  case DType::I64:
    return static_cast<double>(read_at<std::int64_t>(data, i));
  case DType::F16:
    return static_cast<double>(half_to_float(read_at<std::uint16_t>(data, i)));
  case DType::BF16:
    return static_cast<double>(bfloat_to_float(read_at<std::uint16_t>(data, i)));
  case DType::F32:
    return static_cast<double>(read_at<float>(data, i));
  case DType::F64:
    return read_at<double>(data, i);
  }
  internal_error("unknown element type", __FILE__, __LINE__);
}

void store_element(void *data, DType type, std::int64_t i, double value) {
  switch (type) {
  case DType::Bool:
    return write_at<std::uint8_t>(data, i, value != 0 ? 1 : 0);
  case DType::I8:
    return write_at(data, i, saturate<std::int8_t>(value));
  case DType::U8:
    return write_at(data, i, saturate<std::uint8_t>(value));
  case DType::I32:
    return write_at(data, i, saturate<std::int32_t>(value));
  case DType::I64:
    return write_at(data, i, saturate<std::int64_t>(value));
  case DType::F16:
    return write_at(data, i, float_to_half(to_float_odd(value)));
  case DType::BF16:
    return write_at(data, i, float_to_bfloat(to_float_odd(value)));
  case DType::F32:
    return write_at(data, i, static_cast<float>(value));
  case DType::F64:
    return write_at(data, i, value);
  }
  internal_error("unknown element type", __FILE__, __LINE__);
}

} // namespace tilefuse
