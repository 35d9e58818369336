// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "target/convert_elements.h"
#include "target/dtype_traits.h"

namespace tilefuse {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(DType, TablesAreInEnumeratorOrder) {
  for (int i = 0; i < static_cast<int>(dtypes().size()); ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(type)), type);
  }
  for (int i = 0; i <= static_cast<int>(ScalarOp::Select); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    EXPECT_EQ(row(op).op, op);
    EXPECT_EQ(parse_scalar_op(row(op).name), op);
  }
  EXPECT_FALSE(parse_dtype("f33"));
  EXPECT_FALSE(parse_scalar_op("+"));
}

TEST(DType, RowsAgreeWithThemselves) {
  for (const DTypeTraits &row : dtypes()) {
    EXPECT_EQ(&traits(row.type), &row);
    EXPECT_EQ(size_bytes(row.type) * 8, row.bits);
    EXPECT_EQ(traits(row.value).value, row.value) << row.name;
    EXPECT_EQ(row.load_whole == nullptr, row.is_float) << row.name;
    EXPECT_EQ(nearest(lowest(row.type), row.type), lowest(row.type)) << row.name;
    EXPECT_EQ(nearest(highest(row.type), row.type), highest(row.type)) << row.name;
    EXPECT_NE(row.onnx, 0) << row.name;
  }
  EXPECT_TRUE(is_half(DType::BF16));
  EXPECT_FALSE(is_half(DType::F32));
  EXPECT_TRUE(is_byte(DType::U8));
  EXPECT_FALSE(is_byte(DType::Bool));
  EXPECT_TRUE(is_narrow(DType::I16));
  EXPECT_TRUE(is_narrow(DType::I8));
  EXPECT_FALSE(is_narrow(DType::I32));
  EXPECT_FALSE(is_narrow(DType::F16));
  EXPECT_EQ(wrapped(-1, DType::U8), 255);
  EXPECT_EQ(wrapped(384, DType::I8), -128);
  EXPECT_EQ(wrapped(40000, DType::I16), -25536);
  EXPECT_EQ(wrapped(-1, DType::U32), 4294967295);
  EXPECT_EQ(wrapped(-1, DType::U64), -1);
  EXPECT_EQ(wrapped(3, DType::Bool), 1);
}

TEST(DType, IntegersWithoutSignReachPastThoseWithOne) {
  constexpr double kPast = 9223372036854775808.0; // 2^63
  EXPECT_EQ(highest(DType::U64), 2 * kPast);
  EXPECT_EQ(whole_of(kPast, DType::U64), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(whole_of(kPast, DType::I64), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(number_of(std::numeric_limits<std::int64_t>::min(), DType::U64), kPast);
  EXPECT_EQ(cast_to_integer(-1, DType::I64, DType::U64), 2 * kPast);
  EXPECT_EQ(cast_to_integer(kPast, DType::U64, DType::I64), -kPast);
  EXPECT_EQ(cast_to_integer(-1, DType::I8, DType::U16), 65535);
  EXPECT_EQ(cast_to_integer(4294967295, DType::U32, DType::I32), -1);
  EXPECT_EQ(cast_to_integer(-7, DType::F32, DType::U64), 0);
  EXPECT_EQ(cast_to_integer(1e30, DType::F32, DType::U32), 4294967295);
  EXPECT_EQ(number_of(evaluate_bits(ScalarOp::BitRight, DType::U64, whole_of(kPast, DType::U64), 1),
                      DType::U64),
            kPast / 2);
}

TEST(DType, RoundingKeepsTheNearestNumberOfTheType) {
  const std::vector<double> values = {70000, 1.0001, 2049, -0.1, kInf};
  const std::vector<double> halves = {kInf, 1, 2048, -0.0999755859375, kInf};
  const std::vector<double> bfloats = {70144, 1, 2048, -0.10009765625, kInf};
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(evaluate(ScalarOp::RoundF16, std::span(&values[i], 1)), halves[i]);
    EXPECT_EQ(evaluate(ScalarOp::RoundBF16, std::span(&values[i], 1)), bfloats[i]);
  }
  EXPECT_EQ(rounding_to(DType::BF16), ScalarOp::RoundBF16);
  EXPECT_EQ(rounding_to(DType::F32), std::nullopt);
  EXPECT_EQ(rounded_type(ScalarOp::RoundF16), DType::F16);
}

TEST(DType, CoarseIsItsArgument) {
  const double value = -0.1;
  EXPECT_EQ(evaluate(ScalarOp::Coarse, std::span(&value, 1)), value);
  EXPECT_EQ(rounded_type(ScalarOp::Coarse), std::nullopt);
}

TEST(DType, SizesAndAccumulators) {
  EXPECT_EQ(size_bytes(DType::BF16), 2);
  EXPECT_EQ(size_bytes(DType::I64), 8);
  EXPECT_EQ(accumulator_type(DType::F16), DType::F32);
  EXPECT_EQ(accumulator_type(DType::U8), DType::I32);
  EXPECT_EQ(accumulator_type(DType::F64), DType::F64);
}

TEST(Half, EveryValueComesBack) {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = half_to_float(bits);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    else
      EXPECT_EQ(float_to_half(value), bits) << i;
  }
}

// Between every two neighbours: below, at and above the middle.
TEST(Half, RoundsToNearestEven) {
  for (std::uint32_t i = 0; i < 0x7BFF; ++i) {
    const auto low = static_cast<std::uint16_t>(i);
    const auto high = static_cast<std::uint16_t>(i + 1);
    const float middle = half_to_float(low) / 2 + half_to_float(high) / 2;
    EXPECT_EQ(float_to_half(middle), i % 2 == 0 ? low : high) << i;
    EXPECT_EQ(float_to_half(std::nextafterf(middle, 0)), low) << i;
    EXPECT_EQ(float_to_half(std::nextafterf(middle, 1e9F)), high) << i;
  }
  EXPECT_EQ(half_to_float(float_to_half(65519.0F)), 65504.0F);
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(65520.0F))));
  EXPECT_EQ(half_to_float(0x8000), 0);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
}

TEST(Bfloat, RoundsToNearestEven) {
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_TRUE(std::isinf(bfloat_to_float(float_to_bfloat(std::numeric_limits<float>::max()))));
}

double stored(DType type, double value) {
  std::array<std::byte, 8> bytes{};
  store_element(bytes.data(), type, 0, value);
  return load_element(bytes.data(), type, 0);
}

TEST(Elements, IntegersSaturateAndRoundToEven) {
  EXPECT_EQ(stored(DType::I8, 300), 127);
  EXPECT_EQ(stored(DType::I8, -300), -128);
  EXPECT_EQ(stored(DType::U8, -1), 0);
  EXPECT_EQ(stored(DType::U8, 2.5), 2);
  EXPECT_EQ(stored(DType::U8, 3.5), 4);
  EXPECT_EQ(stored(DType::I32, 1e20), 2147483647.0);
  EXPECT_EQ(stored(DType::I64, 1e30), std::ldexp(1.0, 63));
  EXPECT_EQ(stored(DType::I32, std::nan("")), 0);
  EXPECT_EQ(stored(DType::Bool, -0.5), 1);
}

TEST(Elements, SixteenBitFloatsRoundOnce) {
  // Just above the middle of 1 and its neighbour, by less than a float resolves.
  EXPECT_EQ(stored(DType::F16, 1 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40)),
            1 + std::ldexp(1.0, -10));
  EXPECT_EQ(stored(DType::BF16, 1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40)),
            1 + std::ldexp(1.0, -7));
  EXPECT_EQ(stored(DType::F16, 1 + std::ldexp(1.0, -11)), 1);
  EXPECT_EQ(stored(DType::F16, 1e300), kInf);
  EXPECT_EQ(stored(DType::F16, -1e300), -kInf);
}

double apply(ScalarOp op, std::initializer_list<double> arguments, bool integer = false) {
  return evaluate(op, std::vector<double>(arguments), integer);
}

// Between any two types: as element by element, also where floats are special or tiny.
TEST(Elements, AreConvertedTogetherAsOneByOne) {
  constexpr std::array<double, 12> kValues = {0,    -0.0, 1.5,   -2.5,      300,   -70000,
                                              6e-8, 3e-5, 1e-40, 0x1.8p-25, 65519, 65520};
  constexpr auto kCount = static_cast<std::int64_t>(kValues.size());
  for (const DTypeTraits &from : dtypes()) {
    std::vector<std::byte> given(kValues.size() * 8);
    for (std::int64_t i = 0; i < kCount; ++i)
      store_element(given.data(), from.type, i, kValues.at(static_cast<std::size_t>(i)));
    for (const DTypeTraits &to : dtypes()) {
      std::vector<std::byte> together(kValues.size() * 8), apart(kValues.size() * 8);
      convert_elements(given.data(), from.type, together.data(), to.type, kCount);
      for (std::int64_t i = 0; i < kCount; ++i)
        store_element(apart.data(), to.type, i, load_element(given.data(), from.type, i));
      EXPECT_EQ(together, apart) << from.name << " to " << to.name;
    }
  }
}

TEST(Evaluate, EdgeCases) {
  EXPECT_EQ(apply(ScalarOp::Round, {2.5}), 2);
  EXPECT_EQ(apply(ScalarOp::Round, {-3.5}), -4);
  EXPECT_EQ(apply(ScalarOp::Div, {7, 2}), 3.5);
  EXPECT_EQ(apply(ScalarOp::Div, {-7, 2}, true), -3);
  EXPECT_EQ(apply(ScalarOp::Mod, {-7, 2}, true), -1);
  EXPECT_EQ(apply(ScalarOp::Max, {1, std::nan("")}), 1);
  EXPECT_TRUE(std::isnan(apply(ScalarOp::Max, {std::nan(""), 1})));
  EXPECT_EQ(apply(ScalarOp::Select, {0, 1, 2}), 2);
  EXPECT_EQ(apply(ScalarOp::Not, {0}), 1);
  EXPECT_EQ(apply(ScalarOp::And, {2, 0}), 0);
}

TEST(DType, BitOperationsWrapToTheType) {
  using Op = ScalarOp;
  EXPECT_EQ(evaluate_bits(Op::BitAnd, DType::I32, 12, 10), 8);
  EXPECT_EQ(evaluate_bits(Op::BitOr, DType::I32, 12, 10), 14);
  EXPECT_EQ(evaluate_bits(Op::BitXor, DType::I32, -1, 10), -11);
  EXPECT_EQ(evaluate_bits(Op::BitNot, DType::U8, 1, 0), 254);
  EXPECT_EQ(evaluate_bits(Op::BitNot, DType::I8, 1, 0), -2);
  EXPECT_EQ(evaluate_bits(Op::BitLeft, DType::I8, 3, 6), -64);
  EXPECT_EQ(evaluate_bits(Op::BitLeft, DType::U8, 3, 7), 128);
  EXPECT_EQ(evaluate_bits(Op::BitLeft, DType::I32, 1, 33), 2) << "amounts count modulo the width";
  EXPECT_EQ(evaluate_bits(Op::BitLeft, DType::I64, 1, 63), INT64_MIN);
  EXPECT_EQ(evaluate_bits(Op::BitRight, DType::I32, -8, 1), -4);
  EXPECT_EQ(evaluate_bits(Op::BitRight, DType::I32, -8, -1), -1);
  for (int op = 0; op <= static_cast<int>(Op::Select); ++op)
    EXPECT_EQ(row(static_cast<Op>(op)).op, static_cast<Op>(op));
  const std::array<double, 2> huge{1e300, std::nan("")};
  EXPECT_EQ(evaluate(Op::BitOr, huge), static_cast<double>(INT64_MAX));
}

} // namespace
} // namespace tilefuse
