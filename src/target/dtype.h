// SPDX-License-Identifier: Apache-2.0
// Element types of tensors and of kernel values, and the scalar operations on them. One row per
// type (target/dtype_traits.h) and per operation: names, sizes and arities are read from these
// tables by every level.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

namespace tilefuse {

enum class DType : std::uint8_t {
  Bool,
  I8,
  U8,
  I16,
  I32,
  I64,
  F16,
  BF16,
  F32,
  F64,
  U16,
  U32,
  U64,
};

std::string_view to_string(DType type);                  // "f32"
std::optional<DType> parse_dtype(std::string_view name); // of to_string
std::int64_t size_bytes(DType type);
bool is_float(DType type);
// The type that sums and products of `type` are kept in: float for f16 and bf16, i32 for integers of
// 8 and 16 bits, else itself.
DType accumulator_type(DType type);

// Scalar operations of pointwise expressions and of the kernel IR. Comparisons and And/Or/Not give
// Bool.
enum class ScalarOp : std::uint8_t {
  Neg,
  Abs,
  Exp,
  Log,
  Sqrt,
  Tanh,
  Floor,
  Ceil,
  Round,
  Erf,
  Sin,
  Cos,
  RoundF16, // to the nearest number of the type, ties to even, held in f32
  RoundBF16,
  Coarse, // its argument, of which coarse operations are allowed (target/coarse.h)
  Not,
  BitNot, // one argument
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Pow,
  Mod,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  BitAnd,
  BitOr,
  BitXor,
  BitLeft,
  BitRight, // two
  Select,   // three: condition, then, else
};

struct ScalarOpRow {
  ScalarOp op;
  std::string_view name;  // as a function in text: "max"
  std::string_view infix; // as an operator in text: "+", or empty
  int arity;
  bool is_comparison; // result is Bool: comparisons and And, Or, Not
  int binding = 0;    // of the operator in text: 1 of "||" to 6 of "*"; 0: it has none
};

const ScalarOpRow &row(ScalarOp op);
// The operation whose operator in text this is.
std::optional<ScalarOp> parse_infix(std::string_view text);
constexpr bool is_one_of(ScalarOp op, std::initializer_list<ScalarOp> ops) {
  for (const ScalarOp each : ops)
    if (each == op)
      return true;
  return false;
}
// The operation that rounds f32 to `type`; nothing for types other than f16 and bf16.
std::optional<ScalarOp> rounding_to(DType type);
// The type to which the operation rounds f32; nothing for operations of any type.
std::optional<DType> rounded_type(ScalarOp op);
// BitNot to BitRight, which take integers.
bool is_bitwise(ScalarOp op);
// A bit operation in two's complement, wrapped to the integer type; `b` is unused by BitNot. Shift
// amounts count modulo the width of the type; a right shift keeps the sign of signed types.
std::int64_t evaluate_bits(ScalarOp op, DType type, std::int64_t a, std::int64_t b);
std::optional<ScalarOp> parse_scalar_op(std::string_view name);
// The operation in double precision: round is half to even, max and min propagate NaN from neither
// side (`b > a ? b : a`), integer division and mod truncate when `integer`, bit operations are
// those of i64.
double evaluate(ScalarOp op, std::span<const double> arguments, bool integer = false);

// The one rule of a cast to a whole number, at every level and in every back end: floating point
// truncates and saturates to the type, NaN gives 0; between integers the value wraps to the type's
// size; to Bool it tests for not 0. i64 is exact up to 2^53.
double cast_to_integer(double value, DType from, DType to);
// The whole number that a type of integers holds, as bits of 64, u64 above 2^63 as a negative number;
// and back. Values outside of 64 bits become the nearest.
std::int64_t whole_of(double value, DType type);
double number_of(std::int64_t whole, DType type);
// The nearest number of the type; for integers see store_element.
double nearest(double value, DType type);
// The whole number modulo the size of an integer type; Bool: whether it is not 0.
std::int64_t wrapped(std::int64_t value, DType type);

// IEEE half and bfloat16 conversions, round to nearest even.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

// Element `i` of a typed array as a double, and back (saturating to the type's range, rounding half
// to even for integers).
double load_element(const void *data, DType type, std::int64_t i);
void store_element(void *data, DType type, std::int64_t i, double value);

} // namespace tilefuse
