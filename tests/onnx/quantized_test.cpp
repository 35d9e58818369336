// SPDX-License-Identifier: Apache-2.0
// Quantised operators against their definition in the standard.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "nest/evaluate/reference.h"
#include "nest/fold/fold.h"
#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::TensorProto;
using program::HostTensor;

struct Operand {
  DType type;
  Dims dims;
  std::vector<double> values;
};

TensorProto::DataType proto_type(DType type) {
  switch (type) {
  case DType::I8:
    return TensorProto::INT8;
  case DType::U8:
    return TensorProto::UINT8;
  case DType::I32:
    return TensorProto::INT32;
  default:
    return TensorProto::FLOAT;
  }
}

// The result of one node whose operands are all inputs.
std::vector<double> result_of(const std::string &op, const std::vector<Operand> &operands,
                              const std::vector<onnx::AttributeProto> &attributes = {},
                              const std::string &domain = "") {
  ModelBuilder model(13);
  std::vector<std::string> names;
  std::map<std::string, HostTensor> values;
  for (const Operand &operand : operands) {
    const std::string name = "x" + std::to_string(names.size());
    names.push_back(operand.values.empty() ? "" : name);
    if (operand.values.empty())
      continue;
    model.input(name, operand.dims, proto_type(operand.type));
    HostTensor tensor = program::make_host_tensor(name, operand.type, operand.dims);
    for (std::size_t i = 0; i < operand.values.size(); ++i)
      program::set(tensor, static_cast<std::int64_t>(i), operand.values[i]);
    values[name] = std::move(tensor);
  }
  model.node(op, names, {"y"}, attributes).output("y");
  model.proto.mutable_graph()->mutable_node(0)->set_domain(domain);
  const program::Program program = import(model);
  const HostTensor y = nest::evaluate_program(program, values).at(0);
  std::vector<double> result;
  for (std::int64_t i = 0; i < program::elems(y.shape); ++i)
    result.push_back(program::get(y, i));
  return result;
}

Operand scalar(DType type, double value) { return {type, {}, {value}}; }
const Operand kAbsent{DType::F32, {}, {}};

TEST(Quantized, rounds_ties_to_even_and_saturates) {
  const Operand x{DType::F32, {6}, {-1e9, -3, -1, 1, 3, 1e9}};
  EXPECT_EQ(result_of("QuantizeLinear", {x, scalar(DType::F32, 2), scalar(DType::I8, 1)}),
            (std::vector<double>{-128, -1, 1, 1, 3, 127}));
  EXPECT_EQ(result_of("QuantizeLinear", {x, scalar(DType::F32, 2)}),
            (std::vector<double>{0, 0, 0, 0, 2, 255}));
}

TEST(Quantized, has_scales_along_an_axis) {
  const Operand x{DType::F32, {2, 2}, {10, 10, 20, 20}};
  const Operand scales{DType::F32, {2}, {1, 5}}, zeros{DType::U8, {2}, {0, 100}};
  const auto axis = [](std::int64_t value) { return std::vector{attribute("axis", value)}; };
  EXPECT_EQ(result_of("QuantizeLinear", {x, scales, zeros}, axis(0)),
            (std::vector<double>{10, 10, 104, 104}));
  EXPECT_EQ(result_of("QuantizeLinear", {x, scales, zeros}, axis(-1)),
            (std::vector<double>{10, 102, 20, 104}));
  const Operand q{DType::U8, {2, 2}, {10, 102, 20, 104}};
  EXPECT_EQ(result_of("DequantizeLinear", {q, scales, zeros}), x.values);
}

TEST(Quantized, sums_of_32_bits_keep_what_floats_would_round) {
  const Operand sum{DType::I32, {1}, {16777217}};
  EXPECT_EQ(result_of("DequantizeLinear", {sum, scalar(DType::F32, 1)}),
            (std::vector<double>{16777216}));
  const Operand large{DType::U8, {1, 1000}, std::vector<double>(1000, 255)};
  const Operand other{DType::U8, {1000, 1}, std::vector<double>(1000, 255)};
  EXPECT_EQ(result_of("MatMulInteger", {large, other}), (std::vector<double>{65025000}));
}

std::vector<double> of_microsoft(const std::string &op, const std::vector<Operand> &operands,
                                 const std::vector<onnx::AttributeProto> &attributes = {}) {
  return result_of(op, operands, attributes, "com.microsoft");
}

TEST(Quantized, operators_of_onnxruntime_are_those_of_the_standard) {
  const Operand a{DType::U8, {1, 4}, {10, 20, 30, 255}}, b{DType::U8, {1, 4}, {7, 8, 9, 255}};
  const Operand half = scalar(DType::F32, 0.5), two = scalar(DType::F32, 2),
                ten = scalar(DType::U8, 10);
  EXPECT_EQ(of_microsoft("QLinearAdd", {a, half, ten, b, two, scalar(DType::U8, 7), two, ten}),
            (std::vector<double>{10, 14, 17, 255}));
  EXPECT_EQ(of_microsoft("QLinearMul", {a, half, ten, b, half, scalar(DType::U8, 7), two, ten}),
            (std::vector<double>{10, 11, 15, 255}));
  EXPECT_EQ(of_microsoft("QLinearConcat", {two, ten, a, half, ten, b, two, ten},
                         {attribute("axis", std::int64_t{1})}),
            (std::vector<double>{10, 12, 15, 71, 7, 8, 9, 255}));
  const Operand image{DType::U8, {1, 1, 2, 2}, {10, 20, 30, 41}};
  EXPECT_EQ(of_microsoft("QLinearGlobalAveragePool", {image, two, ten, half, ten}),
            (std::vector<double>{71}));
}

TEST(Quantized, integers_are_interpolated_as_floats_and_cut_off) {
  ModelBuilder model(13);
  model.input("x", {1, 1, 1, 2}, TensorProto::UINT8)
      .initializer(int64_tensor("sizes", {4}, {1, 1, 1, 4}))
      .node("Resize", {"x", "", "", "sizes"}, {"y"}, {attribute("mode", std::string("linear"))})
      .output("y");
  HostTensor x = program::make_host_tensor("x", DType::U8, {1, 1, 1, 2});
  program::set(x, 0, 10);
  program::set(x, 1, 21);
  const HostTensor y = nest::evaluate_program(import(model), {{"x", x}}).at(0);
  EXPECT_EQ(y.type, DType::U8);
  EXPECT_EQ((std::vector<double>{program::get(y, 0), program::get(y, 1), program::get(y, 2),
                                 program::get(y, 3)}),
            (std::vector<double>{10, 12, 18, 21}));
}

TEST(Quantized, QGemm_adds_its_bias_in_units_of_products) {
  const Operand a{DType::U8, {1, 2}, {12, 14}}, b{DType::I8, {2, 2}, {1, 2, 3, 4}};
  const Operand scales{DType::F32, {2}, {0.5, 1}}, zeros{DType::I8, {2}, {0, 0}};
  const Operand bias{DType::I32, {2}, {3, 4}};
  // [2, 4] times the columns [1, 3] and [2, 4], plus a bias; in units of 2 * 0.5 and 2 * 1.
  EXPECT_EQ(of_microsoft("QGemm", {a, scalar(DType::F32, 2), scalar(DType::U8, 10), b, scales,
                                   zeros, bias, scalar(DType::F32, 1), scalar(DType::U8, 100)}),
            (std::vector<double>{117, 148}));
  EXPECT_EQ(of_microsoft("QGemm",
                         {a, scalar(DType::F32, 2), scalar(DType::U8, 10), b, scales, zeros, bias}),
            (std::vector<double>{17, 48}));
}

// QLinearConv of 3x3 with padding 1: padded points are zero points, not zeros.
struct QuantizedConv {
  static constexpr std::int64_t kChannels = 2, kSize = 4, kOut = 3;
  Operand x{DType::U8, {1, kChannels, kSize, kSize}, {}};
  Operand w{DType::I8, {kOut, kChannels, 3, 3}, {}};
  Operand scales{DType::F32, {kOut}, {0.02, 0.5, 0.004}};
  Operand bias{DType::I32, {kOut}, {100, -2000, 7}};

  QuantizedConv() {
    for (int i = 0; i < kChannels * kSize * kSize; ++i)
      x.values.push_back((i * 37 + 11) % 256);
    for (int i = 0; i < kOut * kChannels * 9; ++i)
      w.values.push_back((i * 53) % 256 - 128);
  }
  double tap(std::int64_t c, std::int64_t y, std::int64_t z) const {
    const bool inside = y >= 0 && z >= 0 && y < kSize && z < kSize;
    return inside ? x.values[at((c * kSize + y) * kSize + z)] - 7 : 0;
  }
  double expected(std::int64_t m, std::int64_t y, std::int64_t z) const {
    double sum = bias.values[at(m)];
    for (std::int64_t c = 0; c < kChannels; ++c)
      for (std::int64_t r = 0; r < 9; ++r)
        sum += tap(c, y + r / 3 - 1, z + r % 3 - 1) * w.values[at((m * kChannels + c) * 9 + r)];
    const double scaled = sum * 0.25 * scales.values[at(m)] / 3;
    return std::clamp(std::nearbyint(scaled) + 128, 0.0, 255.0);
  }
};

TEST(Quantized, convolution_has_its_zero_point_around) {
  const QuantizedConv conv;
  const auto got =
      result_of("QLinearConv",
                {conv.x, scalar(DType::F32, 0.25), scalar(DType::U8, 7), conv.w, conv.scales,
                 scalar(DType::I8, 0), scalar(DType::F32, 3), scalar(DType::U8, 128), conv.bias},
                {attribute("pads", Dims{1, 1, 1, 1})});
  ASSERT_EQ(got.size(), 48U);
  for (std::int64_t i = 0; i < 48; ++i) // products of scales are rounded in their order
    EXPECT_NEAR(got[at(i)], conv.expected(i / 16, i / 4 % 4, i % 4), 1) << i;
}

TEST(Quantized, integer_products_take_zero_points_by_row_and_column) {
  const Operand a{DType::U8, {2, 2}, {1, 2, 3, 4}}, b{DType::I8, {2, 2}, {5, 6, 7, 8}};
  const Operand rows{DType::U8, {2}, {1, 3}}, columns{DType::I8, {2}, {5, 0}};
  EXPECT_EQ(result_of("MatMulInteger", {a, b, rows, columns}), (std::vector<double>{2, 8, 2, 8}));
  EXPECT_EQ(result_of("MatMulInteger", {a, b, kAbsent, columns}),
            (std::vector<double>{4, 22, 8, 50}));
}

TEST(Quantized, refuses_scales_by_block) {
  const Error error = error_of([] {
    result_of("DequantizeLinear",
              {{DType::U8, {2, 2}, {1, 2, 3, 4}}, {DType::F32, {2, 2}, {1, 1, 1, 1}}});
  });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
}

TEST(Quantized, refuses_zero_points_along_a_dimension_that_is_not_there) {
  const Operand scalar_input{DType::U8, {}, {1}}, two{DType::U8, {2}, {1, 2}};
  for (const char *op : {"ConvInteger", "MatMulInteger"}) {
    const Error error = error_of([&] { result_of(op, {scalar_input, two, two, two}); });
    EXPECT_EQ(error.code(), ErrorCode::Shape) << op;
  }
}

} // namespace
} // namespace tilefuse::onnx_import
