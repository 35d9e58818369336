// SPDX-License-Identifier: Apache-2.0
#include "target/dtype_traits.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tilefuse {
namespace {

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
template <class T> T saturated(double value) {
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

template <class T> double load_as(const void *data, std::int64_t i) {
  return static_cast<double>(read_at<T>(data, i));
}

template <class T> void store_as(void *data, std::int64_t i, double value) {
  if constexpr (std::is_integral_v<T>)
    write_at(data, i, saturated<T>(value));
  else
    write_at(data, i, static_cast<T>(value));
}

template <class T> std::int64_t load_whole_as(const void *data, std::int64_t i) {
  return static_cast<std::int64_t>(read_at<T>(data, i));
}

template <class T> void store_whole_as(void *data, std::int64_t i, std::int64_t value) {
  write_at(data, i, static_cast<T>(value));
}

std::int64_t load_bool(const void *data, std::int64_t i) {
  return read_at<std::uint8_t>(data, i) != 0 ? 1 : 0;
}

void store_bool(void *data, std::int64_t i, std::int64_t value) {
  write_at<std::uint8_t>(data, i, value != 0 ? 1 : 0);
}

template <class T>
constexpr DTypeTraits whole_type(DType type, std::string_view name, DType accumulator) {
  return {.type = type,
          .name = name,
          .bits = 8 * sizeof(T),
          .is_signed = std::is_signed_v<T>,
          .value = type,
          .accumulator = accumulator,
          .low = std::numeric_limits<T>::min(),
          .high = std::numeric_limits<T>::max(),
          .load = load_as<T>,
          .store = store_as<T>,
          .load_whole = load_whole_as<T>,
          .store_whole = store_whole_as<T>};
}

template <class T> constexpr DTypeTraits float_type(DType type, std::string_view name) {
  return {.type = type,
          .name = name,
          .bits = 8 * sizeof(T),
          .is_float = true,
          .value = type,
          .accumulator = type,
          .largest = static_cast<double>(std::numeric_limits<T>::max()),
          .digits = std::numeric_limits<T>::digits,
          .underflow = static_cast<double>(std::numeric_limits<T>::min()),
          .load = load_as<T>,
          .store = store_as<T>};
}

// How formats and languages call a type.
struct Names {
  int onnx = 0;
  std::string_view npy;
  int tensor_map = 0;
  std::string_view c_bits;
  std::string_view c_value;
  std::string_view c_form;
};

constexpr DTypeTraits named(DTypeTraits row, const Names &names) {
  row.onnx = names.onnx;
  row.npy = names.npy;
  row.tensor_map = names.tensor_map;
  row.c_bits = names.c_bits;
  row.c_value = names.c_value;
  row.c_form = names.c_form;
  return row;
}

constexpr DTypeTraits bool_type() {
  DTypeTraits row = whole_type<std::uint8_t>(DType::Bool, "bool", DType::Bool);
  row.high = 1;
  row.load = [](const void *data, std::int64_t i) {
    return static_cast<double>(load_bool(data, i));
  };
  row.store = [](void *data, std::int64_t i, double value) { store_bool(data, i, value != 0); };
  row.load_whole = load_bool;
  row.store_whole = store_bool;
  return row;
}

// 5 bits of exponent, 10 of fraction.
constexpr DTypeTraits half_type() {
  return {.type = DType::F16,
          .name = "f16",
          .bits = 16,
          .is_float = true,
          .value = DType::F32,
          .accumulator = DType::F32,
          .largest = 65504,
          .digits = 11,
          .underflow = 0x1p-25,
          .rounding = ScalarOp::RoundF16,
          .load =
              [](const void *data, std::int64_t i) {
                return static_cast<double>(half_to_float(read_at<std::uint16_t>(data, i)));
              },
          .store = [](void *data, std::int64_t i,
                      double value) { write_at(data, i, float_to_half(to_float_odd(value))); }};
}

// The upper half of an f32.
constexpr DTypeTraits bfloat_type() {
  return {.type = DType::BF16,
          .name = "bf16",
          .bits = 16,
          .is_float = true,
          .value = DType::F32,
          .accumulator = DType::F32,
          .largest = 0x1.FEp127,
          .digits = 8,
          .underflow = static_cast<double>(std::numeric_limits<float>::min()),
          .rounding = ScalarOp::RoundBF16,
          .load =
              [](const void *data, std::int64_t i) {
                return static_cast<double>(bfloat_to_float(read_at<std::uint16_t>(data, i)));
              },
          .store = [](void *data, std::int64_t i,
                      double value) { write_at(data, i, float_to_bfloat(to_float_odd(value))); }};
}

constexpr std::array<DTypeTraits, 13> kTypes = {{
    named(bool_type(), {9, "|b1", 0, "uchar", "int", "bool"}),
    named(whole_type<std::int8_t>(DType::I8, "i8", DType::I32), {3, "|i1", 0, "char", "char", ""}),
    named(whole_type<std::uint8_t>(DType::U8, "u8", DType::I32),
          {2, "|u1", 0, "uchar", "uchar", ""}),
    named(whole_type<std::int16_t>(DType::I16, "i16", DType::I32),
          {5, "<i2", 1, "short", "short", ""}),
    named(whole_type<std::int32_t>(DType::I32, "i32", DType::I32), {6, "<i4", 3, "int", "int", ""}),
    named(whole_type<std::int64_t>(DType::I64, "i64", DType::I64),
          {7, "<i8", 5, "long", "long", ""}),
    named(half_type(), {10, "<f2", 6, "ushort", "float", "half"}),
    named(bfloat_type(), {16, "", 9, "ushort", "float", "bfloat"}),
    named(float_type<float>(DType::F32, "f32"), {1, "<f4", 7, "float", "float", ""}),
    named(float_type<double>(DType::F64, "f64"), {11, "<f8", 8, "double", "double", ""}),
    named(whole_type<std::uint16_t>(DType::U16, "u16", DType::I32),
          {4, "<u2", 1, "ushort", "ushort", ""}),
    named(whole_type<std::uint32_t>(DType::U32, "u32", DType::U32),
          {12, "<u4", 2, "uint", "uint", ""}),
    named(whole_type<std::uint64_t>(DType::U64, "u64", DType::U64),
          {13, "<u8", 4, "ulong", "ulong", ""}),
}};

} // namespace

const DTypeTraits &traits(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

std::span<const DTypeTraits> dtypes() { return kTypes; }

bool is_half(DType type) { return traits(type).value != type; }

bool is_byte(DType type) {
  const DTypeTraits &row = traits(type);
  return row.bits == 8 && row.high > 1;
}

bool is_narrow(DType type) { return is_byte(type) || type == DType::I16 || type == DType::U16; }

bool keeps_width(DType type) { return is_narrow(type) || type == DType::U32; }

double lowest(DType type) {
  const DTypeTraits &row = traits(type);
  return row.is_float ? -row.largest : static_cast<double>(row.low);
}

double highest(DType type) {
  const DTypeTraits &row = traits(type);
  return row.is_float ? row.largest : static_cast<double>(row.high);
}

std::string_view to_string(DType type) { return traits(type).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeTraits &row : kTypes)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

std::int64_t size_bytes(DType type) { return traits(type).bits / 8; }
bool is_float(DType type) { return traits(type).is_float; }
DType accumulator_type(DType type) { return traits(type).accumulator; }

std::optional<ScalarOp> rounding_to(DType type) { return traits(type).rounding; }

std::optional<DType> rounded_type(ScalarOp op) {
  for (const DTypeTraits &row : kTypes)
    if (row.rounding == op)
      return row.type;
  return std::nullopt;
}

std::int64_t wrapped(std::int64_t value, DType type) {
  const DTypeTraits &row = traits(type);
  if (row.is_float || row.bits == 64)
    return value;
  if (row.high == 1)
    return value != 0 ? 1 : 0;
  const int drop = 64 - row.bits;
  const std::uint64_t kept = static_cast<std::uint64_t>(value) << drop;
  return row.is_signed ? static_cast<std::int64_t>(kept) >> drop
                       : static_cast<std::int64_t>(kept >> drop);
}

double nearest(double value, DType type) {
  if (type == DType::F32)
    return static_cast<double>(static_cast<float>(value));
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
  const bool is_long = from == DType::U64 || to == DType::U64;
  return number_of(wrapped(whole_of(value, is_long ? DType::U64 : DType::I64), to), to);
}

std::int64_t whole_of(double value, DType type) {
  constexpr double kPastSigned = 9223372036854775808.0; // 2^63
  return type == DType::U64 && value >= kPastSigned
             ? static_cast<std::int64_t>(saturated<std::uint64_t>(value))
             : saturated<std::int64_t>(value);
}

double number_of(std::int64_t whole, DType type) {
  return type == DType::U64 ? static_cast<double>(static_cast<std::uint64_t>(whole))
                            : static_cast<double>(whole);
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t fraction = bits & 0x3FFU;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
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
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p24F;
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
  return traits(type).load(data, i);
}

void store_element(void *data, DType type, std::int64_t i, double value) {
  traits(type).store(data, i, value);
}

} // namespace tilefuse
