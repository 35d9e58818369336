// SPDX-License-Identifier: Apache-2.0
// Values of operators that the stored tests of the standard lack, against numbers worked out by
// hand or by NumPy.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "nest/evaluate/reference.h"
#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;
using List = std::vector<double>;

struct Operand {
  Dims dims;
  List values;
  int type = onnx::TensorProto::FLOAT;
  bool is_constant = false;
};

struct Case {
  std::string op; // with its domain in front, "com.microsoft:Gelu", where it is another than ONNX's
  std::int64_t opset;
  std::vector<Operand> operands;
  std::vector<AttributeProto> attributes;
  List result;
  int position = 0; // of the result
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.op; }

AttributeProto number(const std::string &name, std::int64_t value) {
  return attribute(name, value);
}
AttributeProto word(const std::string &name, const std::string &value) {
  return attribute(name, value);
}
AttributeProto ints(const std::string &name, const Dims &values) { return attribute(name, values); }

AttributeProto reals(const std::string &name, const List &values) {
  AttributeProto list;
  list.set_name(name);
  list.set_type(AttributeProto::FLOATS);
  for (const double value : values)
    list.add_floats(static_cast<float>(value));
  return list;
}

Operand floats(Dims dims, List values) { return {std::move(dims), std::move(values)}; }
Operand integers(Dims dims, List values) {
  return {std::move(dims), std::move(values), onnx::TensorProto::INT64};
}
Operand list(List values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return {{count}, std::move(values), onnx::TensorProto::INT64, true};
}

program::HostTensor tensor_of(const std::string &name, const Operand &operand) {
  const bool is_integer = operand.type == onnx::TensorProto::INT64;
  const bool is_narrow = operand.type == onnx::TensorProto::INT8;
  const bool is_short = operand.type == onnx::TensorProto::INT32;
  const DType type = is_integer  ? DType::I64
                     : is_narrow ? DType::I8
                     : is_short  ? DType::I32
                                 : DType::F32;
  program::HostTensor tensor = program::make_host_tensor(name, type, operand.dims);
  for (std::size_t i = 0; i < operand.values.size(); ++i)
    program::set(tensor, static_cast<std::int64_t>(i), operand.values[i]);
  return tensor;
}

class OperatorValue : public testing::TestWithParam<Case> {};

TEST_P(OperatorValue, is_right) {
  const Case &c = GetParam();
  ModelBuilder model(c.opset);
  Options options; // a declared size of 0 leaves it open
  std::map<std::string, program::HostTensor> inputs;
  std::vector<std::string> names;
  for (const Operand &operand : c.operands) {
    const std::string name = operand.dims == Dims{-1} ? "" : fmt::format("x{}", names.size());
    names.push_back(name);
    if (operand.is_constant)
      model.initializer(
          int64_tensor(name, operand.dims, {operand.values.begin(), operand.values.end()}));
    else if (!name.empty())
      inputs[name] = tensor_of(name, operand);
    if (!operand.is_constant && !name.empty()) {
      model.input(name, operand.dims, operand.type);
      options.input_shapes[name] = operand.dims;
    }
  }
  std::vector<std::string> results(static_cast<std::size_t>(c.position));
  results.push_back("y");
  if (c.position > 0)
    results[0] = "first";
  model.node(c.op.substr(c.op.find(':') + 1), names, results, c.attributes).output("y");
  if (const std::size_t end = c.op.find(':'); end != std::string::npos)
    model.proto.mutable_graph()->mutable_node(0)->set_domain(c.op.substr(0, end));
  const program::Program program = import(model, options);
  const auto got = nest::evaluate_program(program, inputs).front();
  ASSERT_EQ(program::elems(got.shape), static_cast<std::int64_t>(c.result.size()));
  for (std::size_t i = 0; i < c.result.size(); ++i) {
    const double value = program::get(got, static_cast<std::int64_t>(i));
    EXPECT_TRUE(value == c.result[i] || std::abs(value - c.result[i]) <= 2e-6)
        << i << ": " << value << ", need " << c.result[i];
  }
}

const Operand kAbsent{.dims = {-1}};
const Operand kSix = floats({2, 3}, {1, 2, 3, 4, 5, 6});

INSTANTIATE_TEST_SUITE_P(
    Choices, OperatorValue,
    testing::Values(
        Case{"Gather", 13, {kSix, integers({2}, {-1, 0})}, {number("axis", 1)}, {3, 1, 6, 4}},
        Case{"GatherElements", 13, {kSix, integers({2, 1}, {2, -3})}, {number("axis", 1)}, {3, 4}},
        Case{"GatherND", 12, {kSix, integers({2, 2}, {1, 0, 0, -1})}, {}, {4, 3}},
        Case{"GatherND", 12, {kSix, integers({2, 1}, {1, 2})}, {number("batch_dims", 1)}, {2, 6}},
        Case{"ScatterElements",
             18,
             {kSix, integers({1, 2}, {1, 0}), floats({1, 2}, {7, 8})},
             {},
             {1, 8, 3, 7, 5, 6}},
        Case{"ScatterElements",
             18,
             {kSix, integers({2, 2}, {1, 1, 0, 2}), floats({2, 2}, {7, 8, 9, 1})},
             {number("axis", 1), word("reduction", "add")},
             {1, 17, 3, 13, 5, 7}},
        Case{"Scatter",
             10,
             {kSix, integers({1, 2}, {1, 0}), floats({1, 2}, {7, 8})},
             {},
             {1, 8, 3, 7, 5, 6}},
        Case{"ScatterND",
             18,
             {kSix, integers({1, 1}, {-1}), floats({1, 3}, {7, 8, 9})},
             {},
             {1, 2, 3, 7, 8, 9}},
        Case{"ScatterND",
             18,
             {kSix, integers({2, 2}, {0, 1, 1, 2}), floats({2}, {7, 8})},
             {word("reduction", "add")},
             {1, 9, 3, 4, 5, 14}},
        Case{"ScatterND",
             18,
             {kSix,
              {{2, 2, 2}, {0, 1, 0, 2, 1, 1, 1, 2}, onnx::TensorProto::INT64, true},
              floats({2, 2}, {7, 8, 9, 0})},
             {},
             {1, 7, 8, 4, 9, 0}},
        Case{"ScatterND",
             18,
             {kSix, {{2, 2}, {0, -1, 1, 2}, onnx::TensorProto::INT64, true}, floats({2}, {7, 8})},
             {word("reduction", "add")},
             {1, 2, 10, 4, 5, 14}},
        Case{"ScatterND",
             18,
             {kSix, {{2, 2}, {1, 0, 0, 1}, onnx::TensorProto::INT64, true}, floats({2}, {7, 8})},
             {},
             {1, 8, 3, 7, 5, 6}},
        Case{"TopK", 11, {floats({5}, {3, 1, 3, 7, 2}), list({3})}, {}, {7, 3, 3}},
        Case{"TopK", 11, {floats({5}, {3, 1, 3, 7, 2}), list({3})}, {}, {3, 0, 2}, 1},
        Case{"TopK", 11, {floats({5}, {3, 1, 3, 7, 2}), list({2})}, {number("largest", 0)}, {1, 2}},
        Case{"Trilu", 14, {kSix}, {}, {1, 2, 3, 0, 5, 6}},
        Case{"Trilu", 14, {kSix}, {number("upper", 0)}, {1, 0, 0, 4, 5, 0}},
        Case{"EyeLike", 9, {kSix}, {number("k", 1)}, {0, 1, 0, 0, 0, 1}},
        Case{"CumSum", 14, {kSix, list({1})}, {}, {1, 3, 6, 4, 9, 15}},
        Case{"CumSum",
             14,
             {kSix, list({1})},
             {number("reverse", 1), number("exclusive", 1)},
             {5, 3, 0, 11, 6, 0}},
        Case{"CumProd", 26, {kSix, list({1})}, {}, {1, 2, 6, 4, 20, 120}},
        Case{"ArgMin", 13, {floats({4}, {2, 1, 3, 1})}, {number("select_last_index", 1)}, {3}},
        Case{"Hardmax", 11, {floats({1, 4}, {2, 3, 1, 3})}, {}, {0, 1, 0, 0}}));

INSTANTIATE_TEST_SUITE_P(
    Sums, OperatorValue,
    testing::Values(
        Case{"Einsum",
             12,
             {kSix, floats({3, 2}, {1, 0, 0, 1, 1, 1})},
             {word("equation", "ij,jk->ik")},
             {4, 5, 10, 11}},
        Case{"Einsum", 12, {floats({2, 2}, {1, 2, 3, 4})}, {word("equation", "ii")}, {5}},
        Case{"Einsum", 12, {kSix}, {word("equation", "ij->ji")}, {1, 4, 2, 5, 3, 6}},
        Case{"Einsum",
             12,
             {kSix, floats({3}, {1, 2, 3}), floats({2}, {1, 10})},
             {word("equation", "ij, j, i")},
             {334}},
        Case{"ConvTranspose",
             11,
             {floats({1, 2, 2}, {1, 2, 3, 4}), floats({2, 1, 2}, {1, 10, 100, 1000})},
             {number("group", 2), ints("strides", {2})},
             {1, 10, 2, 20, 300, 3000, 400, 4000}},
        Case{"ConvTranspose",
             11,
             {floats({1, 1, 1, 1, 2}, {1, 2}), floats({1, 1, 1, 1, 2}, {1, 10})},
             {},
             {1, 12, 20}},
        Case{"GlobalLpPool", 2, {floats({1, 1, 2}, {3, -4})}, {}, {5}},
        Case{"LpNormalization",
             1,
             {floats({3}, {3, -4, 0})},
             {number("p", 1)},
             {3.0 / 7, -4.0 / 7, 0}},
        Case{"LpNormalization", 1, {floats({2}, {0, 0})}, {}, {0, 0}},
        Case{"RMSNormalization",
             23,
             {floats({1, 2}, {3, 4}), floats({2}, {1, 2})},
             {},
             {3 / std::sqrt(12.50001), 8 / std::sqrt(12.50001)}},
        Case{"MeanVarianceNormalization", 13, {floats({1, 1, 1, 2}, {1, 3})}, {}, {-1, 1}},
        Case{"BatchNormalization",
             15,
             {floats({2, 1}, {1, 3}), floats({1}, {2}), floats({1}, {1}), floats({1}, {10}),
              floats({1}, {20})},
             {number("training_mode", 1)},
             {-0.99999, 2.99999}},
        Case{"BatchNormalization",
             15,
             {floats({2, 1}, {1, 3}), floats({1}, {2}), floats({1}, {1}), floats({1}, {10}),
              floats({1}, {20})},
             {number("training_mode", 1)},
             {9.2},
             1}));

INSTANTIATE_TEST_SUITE_P(
    Pointwise, OperatorValue,
    testing::Values(
        Case{"Atan",
             7,
             {floats({5}, {-3, -0.5, 0.1, 1, 1e6})},
             {},
             {std::atan(-3), std::atan(-0.5), std::atan(0.1), std::atan(1), std::atan(1e6)}},
        Case{"Asin",
             7,
             {floats({4}, {-1, -0.2, 0.7, 1})},
             {},
             {std::asin(-1), std::asin(-0.2), std::asin(0.7), std::asin(1)}},
        Case{"Acos",
             7,
             {floats({4}, {-1, -0.2, 0.7, 1})},
             {},
             {std::acos(-1), std::acos(-0.2), std::acos(0.7), 0}},
        Case{"Tan", 7, {floats({2}, {0.5, -1})}, {}, {std::tan(0.5), std::tan(-1)}},
        Case{"Sinh", 9, {floats({2}, {0.5, -1})}, {}, {std::sinh(0.5), std::sinh(-1)}},
        Case{"Cosh", 9, {floats({2}, {0.5, -1})}, {}, {std::cosh(0.5), std::cosh(-1)}},
        Case{"Asinh", 9, {floats({2}, {0.5, -3})}, {}, {std::asinh(0.5), std::asinh(-3)}},
        Case{"Acosh", 9, {floats({2}, {1, 3})}, {}, {0, std::acosh(3)}},
        Case{"Atanh", 9, {floats({2}, {0.5, -0.25})}, {}, {std::atanh(0.5), std::atanh(-0.25)}},
        Case{"Swish",
             24,
             {floats({2}, {1, -2})},
             {attribute("alpha", 2.0)},
             {1 / (1 + std::exp(-2.0)), -2 / (1 + std::exp(4.0))}},
        Case{"IsInf", 20, {floats({4}, {INFINITY, 1, -INFINITY, NAN})}, {}, {1, 0, 1, 0}},
        Case{"IsInf",
             20,
             {floats({3}, {INFINITY, 1, -INFINITY})},
             {number("detect_negative", 0)},
             {1, 0, 0}},
        Case{"BitwiseAnd", 18, {integers({2}, {6, -1}), integers({2}, {3, 5})}, {}, {2, 5}},
        Case{"BitwiseOr", 18, {integers({2}, {6, 0}), integers({2}, {3, 5})}, {}, {7, 5}},
        Case{"BitwiseXor", 18, {integers({2}, {6, 0}), integers({2}, {3, 5})}, {}, {5, 5}},
        Case{"BitwiseNot", 18, {integers({2}, {6, -1})}, {}, {-7, 0}},
        Case{"BitShift",
             11,
             {integers({3}, {3, -8, -8}), integers({3}, {2, 1, 64})},
             {word("direction", "RIGHT")},
             {0, -4, -1}},
        Case{"BitShift",
             11,
             {integers({2}, {3, 1}), integers({2}, {2, 64})},
             {word("direction", "LEFT")},
             {12, 0}}));

// What noop_with_empty_axes leaves of a reduction: its steps on single elements.
INSTANTIATE_TEST_SUITE_P(
    ReductionsOfNoAxes, OperatorValue,
    testing::Values(
        Case{"ReduceSum", 13, {floats({2}, {-3, 2})}, {number("noop_with_empty_axes", 1)}, {-3, 2}},
        Case{"ReduceL1", 18, {floats({2}, {-3, 2})}, {number("noop_with_empty_axes", 1)}, {3, 2}},
        Case{"ReduceL2",
             18,
             {floats({2}, {-3, 2})},
             {number("noop_with_empty_axes", 1), number("keepdims", 0)},
             {3, 2}},
        Case{"ReduceSumSquare",
             18,
             {floats({2}, {-3, 2})},
             {number("noop_with_empty_axes", 1)},
             {9, 4}},
        Case{"ReduceLogSum",
             18,
             {floats({2}, {1, std::exp(2.0)})},
             {number("noop_with_empty_axes", 1)},
             {0, 2}}));

INSTANTIATE_TEST_SUITE_P(
    ConstantExponents, OperatorValue,
    testing::Values(
        Case{"Pow", 15, {floats({2, 2}, {2, 3, 4, 5}), list({2, 3})}, {}, {4, 27, 16, 125}},
        Case{"Pow", 15, {floats({2}, {2, 3}), list({2})}, {}, {4, 9}}));

// Of integers as onnxruntime does: as of numbers of 64 bits, then cut.
INSTANTIATE_TEST_SUITE_P(
    OfIntegers, OperatorValue,
    testing::Values(
        Case{"Pow", 15, {integers({2}, {-3, 200003}), list({3})}, {}, {-27, 8000360005400027}},
        Case{"Pow", 15, {{{2}, {5, 9}, onnx::TensorProto::INT32}, floats({1}, {0.5})}, {}, {2, 3}},
        Case{"ReduceL2",
             18,
             {{{2}, {5, 4}, onnx::TensorProto::INT32}},
             {number("keepdims", 0)},
             {6}},
        Case{"ReduceLogSum", 18, {integers({2}, {5, 4})}, {}, {2}},
        Case{"DynamicQuantizeLinear", 11, {floats({2}, {0, 0})}, {}, {1}, 1}));

// A region is x, y, x, y; the largest of the four weighted elements around any place of a bin, as onnxruntime has it.
const Operand kCross = floats({1, 1, 3, 3}, {-1, -2, -3, -4, 5, -6, -7, -8, -9});
const Operand kRegions = floats({2, 4}, {0, 0, 3, 3, 1.5, 1.5, 4, 4});

INSTANTIATE_TEST_SUITE_P(
    Places, OperatorValue,
    testing::Values(Case{"RoiAlign",
                         16,
                         {kCross, kRegions, integers({2}, {0, 0})},
                         {word("mode", "max"), number("sampling_ratio", 1),
                          number("output_height", 2), number("output_width", 2)},
                         {0.3125, 0.3125, 0.3125, 0.3125, 0.703125, 0, 0, 0}},
                    Case{"RoiAlign",
                         16,
                         {kCross, kRegions, integers({2}, {0, 0})},
                         {word("mode", "max"), number("sampling_ratio", 2),
                          number("output_height", 1), number("output_width", 2)},
                         {0.78125, 0.78125, 1.2890625, 0}},
                    Case{"AffineGrid",
                         20,
                         {floats({1, 2, 3}, {1, 0, 0.5, 0, 2, 0}), list({1, 1, 2, 2})},
                         {},
                         {0, -1, 1, -1, 0, 1, 1, 1}},
                    Case{"AffineGrid",
                         20,
                         {floats({1, 2, 3}, {1, 0, 0.5, 0, 2, 0}), list({1, 1, 2, 2})},
                         {number("align_corners", 1)},
                         {-0.5, -2, 1.5, -2, -0.5, 2, 1.5, 2}},
                    Case{"NonZero",
                         13,
                         {{{2, 2}, {0, 7, 7, 7}, onnx::TensorProto::INT64, true}},
                         {},
                         {0, 1, 1, 1, 0, 1}},
                    Case{
                        "Compress", 11, {kSix, list({0, 1, 1})}, {number("axis", 1)}, {2, 3, 5, 6}},
                    Case{"Compress", 11, {kSix, list({0, 1, 1, 0, 1})}, {}, {2, 3, 5}}));

// What onnxruntime 1.32 computes.
const Operand kThree = floats({3}, {-1, 0.5, 2});
const Operand kRow = floats({1, 1, 4}, {1, -2, 3, 4});
const Operand kSlope = floats({1, 1, 2}, {1, -1});
const Operand kSquare = floats({2, 2}, {1, 0, -3, 1});

INSTANTIATE_TEST_SUITE_P(
    Fused, OperatorValue,
    testing::Values(
        Case{"com.microsoft:FusedConv",
             17,
             {kRow, kSlope, floats({1}, {0.5}), floats({1, 1, 3}, {1, 2, 3})},
             {word("activation", "Relu")},
             {4.5, 0, 2.5}},
        Case{"com.microsoft:FusedConv",
             17,
             {kRow, kSlope},
             {word("activation", "Clip"), reals("activation_params", {-1, 2})},
             {2, -1, -1}},
        Case{"com.microsoft:FusedGemm",
             17,
             {floats({1, 2}, {1, 2}), kSquare, floats({2}, {1, -1})},
             {word("activation", "LeakyRelu"), attribute("activation_alpha", 0.5)},
             {-2, 1}},
        Case{"com.microsoft:FusedMatMul",
             17,
             {floats({2, 2}, {1, 2, 3, 4}), kSquare},
             {number("transA", 1), number("transB", 1), attribute("alpha", 0.5)},
             {0.5, 0, 1, -1}},
        Case{"com.microsoft:Gelu", 17, {kThree}, {}, {-0.1586553, 0.3457312, 1.9545}},
        Case{"com.microsoft:FastGelu", 17, {kThree}, {}, {-0.158808, 0.345714, 1.954598}},
        Case{"com.microsoft:QuickGelu", 17, {kThree}, {}, {-0.1542042, 0.3503884, 1.935659}},
        Case{"com.microsoft:BiasGelu",
             17,
             {kThree, floats({3}, {1, 0, 1})},
             {},
             {0, 0.3457312, 2.99595}},
        Case{"com.microsoft:SkipLayerNormalization",
             17,
             {floats({1, 1, 3}, {1, 2, 3}), floats({1, 1, 3}, {0, 1, 5}), floats({3}, {1, 2, 1}),
              floats({3}, {0, 1, 0}), floats({3}, {1, 0, 0})},
             {attribute("epsilon", 1e-5)},
             {-0.8890003, -0.01600039, 1.397}},
        Case{"LayerNormalization",
             13,
             {floats({1, 2}, {1, 3}), floats({2}, {1, 2})},
             {},
             {-0.999995, 1.99999}},
        Case{"SimplifiedLayerNormalization",
             13,
             {floats({1, 2}, {3, 4}), floats({2}, {1, 2})},
             {},
             {3 / std::sqrt(12.50001), 8 / std::sqrt(12.50001)}}));

const Operand kNothing = floats({2, 0}, {});

INSTANTIATE_TEST_SUITE_P(
    OfNothing, OperatorValue,
    testing::Values(
        Case{"CumSum", 14, {floats({2, 1}, {3, 4}), list({1})}, {number("exclusive", 1)}, {0, 0}},
        Case{"CumSum",
             14,
             {floats({2, 1}, {3, 4}), list({1})},
             {number("exclusive", 1), number("reverse", 1)},
             {0, 0}},
        Case{"MatMul", 13, {kNothing, floats({0, 2}, {})}, {}, {0, 0, 0, 0}},
        Case{"Gemm", 13, {kNothing, floats({0, 1}, {}), floats({1}, {3})}, {}, {3, 3}},
        Case{"Concat", 13, {kNothing, floats({2, 1}, {3, 4})}, {number("axis", 1)}, {3, 4}},
        Case{"ReduceSum", 13, {kNothing, list({1})}, {}, {0, 0}},
        Case{"ReduceProd", 13, {kNothing}, {ints("axes", {1})}, {1, 1}},
        Case{"ReduceMax", 20, {kNothing, list({1})}, {}, {-INFINITY, -INFINITY}},
        Case{"Pad", 13, {kNothing, list({0, 1, 0, 0})}, {}, {0, 0}},
        Case{"Shape", 13, {kNothing}, {}, {2, 0}},
        Case{"Slice", 13, {kSix, list({2}), list({2}), list({1})}, {}, {}},
        Case{"Gather", 13, {kSix, integers({0}, {})}, {}, {}}, Case{"Relu", 14, {kNothing}, {}, {}},
        Case{"Softmax", 13, {kNothing}, {}, {}}, Case{"Tile", 13, {kSix, list({0, 1})}, {}, {}},
        Case{"Conv", 11, {floats({0, 1, 3}, {}), floats({1, 1, 2}, {1, 2})}, {}, {}}));

// One step each, of one feature and one unit; gates by hand.
const Operand kStep = floats({1, 1, 1}, {0.5});
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
const double kCell = sigmoid(0.5) * std::tanh(2.0);

INSTANTIATE_TEST_SUITE_P(
    Sequences, OperatorValue,
    testing::Values(
        Case{"RNN",
             14,
             {floats({2, 1, 1}, {0.5, -1}), floats({1, 1, 1}, {2}), floats({1, 1, 1}, {3})},
             {number("hidden_size", 1)},
             {std::tanh(1), std::tanh(-2 + 3 * std::tanh(1))}},
        Case{"RNN",
             14,
             {floats({2, 1, 1}, {0.5, -1}), floats({1, 1, 1}, {2}), floats({1, 1, 1}, {3})},
             {number("hidden_size", 1), word("direction", "reverse")},
             {std::tanh(1 + 3 * std::tanh(-2)), std::tanh(-2)}},
        Case{"LSTM",
             14,
             {kStep, floats({1, 4, 1}, {1, 2, 3, 4}), floats({1, 4, 1}, {0, 0, 0, 0})},
             {number("hidden_size", 1)},
             {sigmoid(1) * std::tanh(kCell)}},
        Case{"GRU",
             14,
             {kStep, floats({1, 3, 1}, {1, 2, 4}), floats({1, 3, 1}, {0, 0, 0})},
             {number("hidden_size", 1)},
             {(1 - sigmoid(0.5)) * std::tanh(2)}},
        Case{"Attention",
             23,
             {floats({1, 1, 1, 1}, {1}), floats({1, 1, 2, 1}, {1, 3}),
              floats({1, 1, 2, 1}, {10, 20})},
             {},
             {10 + 10 * sigmoid(2)}},
        Case{"Attention",
             23,
             {floats({1, 1, 2, 1}, {1, 1}), floats({1, 1, 2, 1}, {1, 3}),
              floats({1, 1, 2, 1}, {10, 20})},
             {number("is_causal", 1)},
             {10, 10 + 10 * sigmoid(2)}},
        Case{"RotaryEmbedding",
             23,
             {floats({1, 1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, 2}, {0, 1}),
              floats({1, 1, 2}, {1, 0})},
             {},
             {-3, 2, 1, 4}}));

} // namespace
} // namespace tilefuse::onnx_import
