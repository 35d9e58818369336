// SPDX-License-Identifier: Apache-2.0
// The gradient of every operator of the table that makes floating results of floating operands, by
// each of these, against finite differences. Models are one node; shapes are small and awkward.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "onnx/model_builder.h"
#include "onnx/table.h"
#include "program/finite_difference.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;
using onnx::TensorProto;
using program::testing::any_values;
using program::testing::positive_values;
using program::testing::Source;
using program::testing::Values;

struct Case {
  std::int64_t opset = 13;
  std::string op;
  std::vector<Dims> inputs; // floating
  std::vector<AttributeProto> attributes = {};
  std::vector<TensorProto> constants =
      {}; // operands after the inputs; one without a name is absent
  Source source = any_values;
  int outputs = 1;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.op << " opset " << c.opset; }

AttributeProto ints(const std::string &name, const Dims &values) { return attribute(name, values); }
AttributeProto number(const std::string &name, std::int64_t value) {
  return attribute(name, value);
}
AttributeProto word(const std::string &name, const std::string &value) {
  return attribute(name, value);
}
AttributeProto real(const std::string &name, double value) { return attribute(name, value); }

TensorProto list(const Dims &values, const std::string &name = "l") {
  return int64_tensor(name, {static_cast<std::int64_t>(values.size())}, values);
}
AttributeProto scales(const std::vector<float> &values) {
  AttributeProto attribute;
  attribute.set_name("scales");
  attribute.set_type(AttributeProto::FLOATS);
  for (float value : values)
    attribute.add_floats(value);
  return attribute;
}
TensorProto absent() { return {}; }
TensorProto reals(const std::vector<float> &values, const Dims &dims) {
  TensorProto tensor = float_tensor("r", dims);
  tensor.clear_float_data();
  for (float value : values)
    tensor.add_float_data(value);
  return tensor;
}

// More than 1e-3 away from whole and half numbers, where rounding jumps.
Values values_off_steps(const program::Tensor &tensor, std::mt19937 &random) {
  Values values = any_values(tensor, random);
  for (double &value : values)
    value = std::floor(value) + 0.1 + 0.3 * (value - std::floor(value));
  return values;
}

// Inside (-1, 1), and above 1.
Values small_values(const program::Tensor &tensor, std::mt19937 &random) {
  Values values = any_values(tensor, random);
  for (double &value : values)
    value = 0.8 * std::sin(value);
  return values;
}
Values large_values(const program::Tensor &tensor, std::mt19937 &random) {
  Values values = any_values(tensor, random);
  for (double &value : values)
    value = 1.5 + std::abs(value);
  return values;
}

ModelBuilder model_of(const Case &c) {
  ModelBuilder model(c.opset);
  std::vector<std::string> names;
  for (const Dims &dims : c.inputs) {
    names.push_back(fmt::format("x{}", names.size()));
    model.input(names.back(), dims);
  }
  for (TensorProto constant : c.constants) {
    const bool is_absent = constant.name().empty();
    names.push_back(is_absent ? "" : fmt::format("c{}", names.size()));
    constant.set_name(names.back());
    if (!is_absent)
      model.initializer(constant);
  }
  std::vector<std::string> outputs;
  for (int k = 0; k < c.outputs; ++k)
    outputs.push_back(fmt::format("y{}", k));
  model.node(c.op, names, outputs, c.attributes);
  for (const std::string &name : outputs)
    model.output(name);
  return model;
}

const Dims kPicture{1, 3, 7, 5};
const Dims kSmall{2, 3, 4};

std::vector<Case> convolutions() {
  const auto conv = [](Dims image, Dims filter, std::vector<AttributeProto> attributes) {
    return Case{.op = "Conv",
                .inputs = {std::move(image), filter, {filter[0]}},
                .attributes = std::move(attributes)};
  };
  const auto transposed = [](Dims image, Dims filter, std::vector<AttributeProto> attributes) {
    return Case{.op = "ConvTranspose",
                .inputs = {std::move(image), filter, {filter[1]}},
                .attributes = std::move(attributes)};
  };
  return {
      conv({1, 1, 1, 1}, {1, 1, 1, 1}, {}),
      conv(kPicture, {2, 3, 3, 3}, {ints("pads", {1, 1, 1, 1})}),
      conv({2, 3, 7, 5}, {2, 3, 3, 3}, {ints("pads", {0, 1, 2, 1}), ints("strides", {2, 2})}),
      conv({1, 2, 8, 7}, {3, 2, 2, 3}, {ints("strides", {3, 3}), ints("pads", {1, 1, 1, 1})}),
      conv({1, 2, 9, 7}, {2, 2, 3, 2}, {ints("dilations", {2, 3})}),
      conv({1, 2, 9, 9}, {2, 2, 3, 3},
           {ints("dilations", {2, 2}), ints("strides", {3, 2}), ints("pads", {2, 1, 2, 1})}),
      conv({1, 4, 5, 5}, {6, 2, 3, 3}, {number("group", 2), ints("strides", {2, 2})}),
      conv({1, 3, 6, 5}, {3, 1, 3, 3}, {number("group", 3), ints("pads", {1, 1, 1, 1})}),
      conv({2, 3, 11}, {2, 3, 3}, {ints("strides", {2}), ints("pads", {1, 1})}),
      conv({1, 2, 3, 4, 3}, {2, 2, 2, 2, 2}, {ints("strides", {1, 2, 1})}),
      conv(kPicture, {2, 3, 2, 2}, {word("auto_pad", "SAME_UPPER"), ints("strides", {2, 2})}),
      transposed({1, 2, 3, 4}, {2, 3, 3, 3}, {ints("strides", {2, 2}), ints("pads", {1, 1, 1, 1})}),
      transposed({1, 2, 3}, {2, 3, 2}, {ints("strides", {3}), ints("output_padding", {1})}),
      transposed({1, 2, 3, 3}, {2, 1, 2, 2}, {ints("dilations", {2, 2})}),
      transposed({1, 4, 3, 2}, {4, 1, 2, 3}, {number("group", 1), ints("strides", {2, 1})}),
      transposed({1, 2, 2, 3, 2}, {2, 1, 2, 2, 2}, {ints("strides", {2, 1, 1})}),
      {.op = "ConvTranspose",
       .inputs = {{1, 4, 3, 3}, {4, 2, 2, 2}},
       .attributes = {number("group", 2), ints("strides", {2, 2})}},
      {.opset = 18,
       .op = "Col2Im",
       .inputs = {{1, 12, 4}},
       .attributes = {ints("strides", {2, 2})},
       .constants = {list({4, 5}, "picture"), list({2, 3}, "block")}},
      {.op = "Einsum",
       .inputs = {{2, 3, 4}, {2, 4, 5}},
       .attributes = {word("equation", "bij,bjk->bik")}},
      {.op = "Einsum", .inputs = {{3, 3}}, .attributes = {word("equation", "ii")}},
      {.op = "Einsum",
       .inputs = {{2, 3}, {3, 4}, {4}},
       .attributes = {word("equation", "...a,ab,b->...")}},
      {.op = "Gemm", .inputs = {{2, 3}, {3, 4}, {4}}},
      {.op = "Gemm",
       .inputs = {{3, 2}, {4, 3}, {2, 1}},
       .attributes = {number("transA", 1), number("transB", 1), real("alpha", 0.5),
                      real("beta", 2)}},
      {.op = "MatMul", .inputs = {{2, 3}, {3, 5}}},
      {.op = "MatMul", .inputs = {{3}, {3}}},
      {.op = "MatMul", .inputs = {{2, 1, 2, 3}, {3, 3, 2}}},
  };
}

std::vector<Case> pools() {
  const auto pool = [](const char *op, Dims image, std::vector<AttributeProto> attributes) {
    return Case{
        .opset = 19, .op = op, .inputs = {std::move(image)}, .attributes = std::move(attributes)};
  };
  const AttributeProto three = ints("kernel_shape", {3, 3});
  const AttributeProto around = ints("pads", {1, 1, 1, 1});
  return {
      pool("MaxPool", kPicture, {ints("kernel_shape", {2, 2}), ints("strides", {2, 2})}),
      pool("MaxPool", {2, 2, 7, 5}, {three, ints("strides", {2, 2}), around}),
      pool("MaxPool", {1, 2, 7, 8}, {three, ints("strides", {3, 1}), ints("dilations", {2, 2})}),
      pool("MaxPool", {1, 1, 6, 6},
           {ints("kernel_shape", {2, 3}), ints("strides", {2, 2}), number("ceil_mode", 1)}),
      pool("MaxPool", {1, 2, 9}, {ints("kernel_shape", {3})}),
      pool("MaxPool", {1, 1, 4, 4, 4}, {ints("kernel_shape", {2, 2, 2})}),
      pool("AveragePool", kPicture, {three, around}),
      pool("AveragePool", kPicture, {three, around, number("count_include_pad", 1)}),
      pool("AveragePool", {1, 2, 7, 7},
           {three, around, ints("strides", {2, 3}), number("ceil_mode", 1),
            number("count_include_pad", 1)}),
      pool("AveragePool", {1, 1, 5, 4, 4}, {ints("kernel_shape", {2, 2, 2})}),
      pool("AveragePool", {1, 2, 9}, {ints("kernel_shape", {3}), ints("strides", {2})}),
      pool("GlobalAveragePool", kPicture, {}),
      pool("LpPool", {1, 2, 6, 5}, {three, number("p", 2)}),
      pool("GlobalLpPool", {1, 2, 3, 4}, {}),
      pool("GlobalMaxPool", {2, 3, 9}, {}),
      pool("GlobalMaxPool", kPicture, {}),
  };
}

std::vector<Case> normalisations() {
  return {
      {.opset = 9,
       .op = "BatchNormalization",
       .inputs = {{2, 3, 4, 2}, {3}, {3}, {3}, {3}},
       .source = positive_values},
      {.opset = 14,
       .op = "BatchNormalization",
       .inputs = {{4, 3}, {3}, {3}, {3}, {3}},
       .attributes = {real("epsilon", 1e-3)},
       .source = positive_values},
      {.opset = 15,
       .op = "BatchNormalization",
       .inputs = {{3, 2, 2, 2}, {2}, {2}, {2}, {2}},
       .attributes = {number("training_mode", 1)},
       .source = positive_values,
       .outputs = 3},
      {.opset = 21,
       .op = "GroupNormalization",
       .inputs = {{2, 4, 3, 2}, {4}, {4}},
       .attributes = {number("num_groups", 2)}},
      {.opset = 23, .op = "RMSNormalization", .inputs = {{2, 3, 5}, {5}}},
      {.op = "LpNormalization", .inputs = {kSmall}, .attributes = {number("axis", 1)}},
      {.op = "LpNormalization", .inputs = {kSmall}, .attributes = {number("p", 1)}},
      {.op = "MeanVarianceNormalization", .inputs = {{2, 3, 2, 3}}},
      {.opset = 17, .op = "LayerNormalization", .inputs = {{2, 3, 5}, {5}}, .outputs = 3},
      {.op = "InstanceNormalization", .inputs = {{2, 3, 4, 3}, {3}, {3}}},
      {.opset = 17, .op = "LayerNormalization", .inputs = {{2, 3, 5}, {5}, {5}}},
      {.op = "SimplifiedLayerNormalization", .inputs = {{2, 3, 5}, {5}}},
      {.opset = 17,
       .op = "LayerNormalization",
       .inputs = {kSmall, {3, 4}},
       .attributes = {number("axis", 1)}},
      {.op = "LRN",
       .inputs = {{1, 7, 2, 3}},
       .attributes = {number("size", 5), real("alpha", 0.3)}},
      {.opset = 7, .op = "Softmax", .inputs = {kSmall}},
      {.op = "Softmax", .inputs = {kPicture}, .attributes = {number("axis", 1)}},
      {.opset = 7, .op = "LogSoftmax", .inputs = {kSmall}},
      {.op = "LogSoftmax", .inputs = {{2, 10}}},
  };
}

std::vector<Case> unary() {
  std::vector<Case> cases;
  for (const char *op : {"Abs",         "Celu",
                         "Cos",         "Elu",
                         "Erf",         "Exp",
                         "HardSigmoid", "HardSwish",
                         "Identity",    "LeakyRelu",
                         "Mish",        "Neg",
                         "Reciprocal",  "Relu",
                         "Selu",        "Shrink",
                         "Sigmoid",     "Sin",
                         "Softplus",    "Softsign",
                         "Tanh",        "ThresholdedRelu",
                         "Gelu",        "Dropout",
                         "Atan",        "Sinh",
                         "Cosh",        "Asinh",
                         "Tan"})
    cases.push_back({.opset = 20, .op = op, .inputs = {{3, 7}}});
  for (const char *op : {"Ceil", "Floor", "Round", "Sign"})
    cases.push_back({.op = op, .inputs = {{3, 5}}, .source = values_off_steps});
  for (const char *op : {"Log", "Sqrt"})
    cases.push_back({.op = op, .inputs = {{3, 5}}, .source = positive_values});
  cases.push_back(
      {.opset = 20, .op = "Gelu", .inputs = {{4}}, .attributes = {word("approximate", "tanh")}});
  for (const char *op : {"Asin", "Acos", "Atanh"})
    cases.push_back({.op = op, .inputs = {{3, 5}}, .source = small_values});
  cases.push_back({.op = "Acosh", .inputs = {{3, 5}}, .source = large_values});
  cases.push_back(
      {.opset = 24, .op = "Swish", .inputs = {{4, 3}}, .attributes = {real("alpha", 2)}});
  cases.push_back({.op = "Celu", .inputs = {{4, 3}}, .attributes = {real("alpha", 2)}});
  for (const int type : {TensorProto::FLOAT16, TensorProto::DOUBLE})
    cases.push_back({.op = "Cast", .inputs = {{3, 2}}, .attributes = {number("to", type)}});
  cases.push_back({.opset = 15, .op = "CastLike", .inputs = {{3, 2}, {1}}});
  cases.push_back({.opset = 6,
                   .op = "Clip",
                   .inputs = {{3, 7}},
                   .attributes = {real("min", -1), real("max", 1)}});
  cases.push_back({.op = "Clip", .inputs = {{3, 7}, {}, {}}});
  return cases;
}

std::vector<Case> pointwise() {
  std::vector<Case> cases;
  for (const char *op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"})
    cases.push_back({.op = op, .inputs = {{2, 3, 4}, {3, 1}}});
  for (const char *op : {"Max", "Min", "Mean", "Sum"})
    cases.push_back({.op = op, .inputs = {{2, 3}, {1}, {2, 1}}});
  cases.push_back({.opset = 6,
                   .op = "Add",
                   .inputs = {kPicture, {3}},
                   .attributes = {number("broadcast", 1), number("axis", 1)}});
  cases.push_back({.op = "Pow", .inputs = {{2, 5}, {5}}, .source = positive_values});
  cases.push_back({.op = "Pow", .inputs = {{2, 5}}, .constants = {reals({3}, {})}});
  for (const std::int64_t fmod : {0, 1})
    cases.push_back({.op = "Mod", .inputs = {{7}, {7}}, .attributes = {number("fmod", fmod)}});
  cases.push_back({.opset = 6, .op = "PRelu", .inputs = {kPicture, {3}}});
  cases.push_back({.op = "PRelu", .inputs = {kPicture, {3, 1, 1}}});
  return cases;
}

std::vector<Case> reductions() {
  std::vector<Case> cases;
  for (const char *op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                         "ReduceMin", "ReduceProd", "ReduceSumSquare"}) {
    cases.push_back({.op = op, .inputs = {kSmall}, .attributes = {ints("axes", {1})}});
    cases.push_back({.op = op, .inputs = {{2, 5}}, .attributes = {number("keepdims", 0)}});
  }
  cases.push_back({.op = "ReduceSum", .inputs = {kSmall}, .constants = {list({0, 2})}});
  cases.push_back({.op = "ReduceLogSum",
                   .inputs = {kSmall},
                   .attributes = {ints("axes", {2})},
                   .source = positive_values});
  return cases;
}

std::vector<Case> movements() {
  return {
      {.op = "Reshape", .inputs = {kSmall}, .constants = {list({0, -1})}},
      {.op = "Flatten", .inputs = {kSmall}},
      {.op = "Squeeze", .inputs = {{1, 3, 1}}, .constants = {list({-1})}},
      {.op = "Unsqueeze", .inputs = {{3}}, .constants = {list({0})}},
      {.op = "Transpose", .inputs = {kPicture}, .attributes = {ints("perm", {0, 2, 3, 1})}},
      {.op = "Expand", .inputs = {{3, 1}}, .constants = {list({2, 3, 4})}},
      {.op = "Tile", .inputs = {{2, 3}}, .constants = {list({2, 3})}},
      {.op = "Concat",
       .inputs = {kPicture, {1, 2, 7, 5}, {1, 1, 7, 5}},
       .attributes = {number("axis", 1)}},
      {.op = "Concat", .inputs = {{2, 3}, {2, 4}}, .attributes = {number("axis", -1)}},
      {.opset = 9,
       .op = "Slice",
       .inputs = {kPicture},
       .attributes = {ints("axes", {2}), ints("starts", {1}), ints("ends", {6})}},
      {.op = "Slice",
       .inputs = {kPicture},
       .constants = {list({0, 0}), list({100, 100}), list({2, 3}), list({2, 3})}},
      {.op = "Slice",
       .inputs = {{10}},
       .constants = {list({-1}), list({-100}), list({0}), list({-2})}},
      {.op = "Split", .inputs = {{2, 6}}, .attributes = {number("axis", 1)}, .outputs = 3},
      {.opset = 11,
       .op = "Split",
       .inputs = {{2, 6}},
       .attributes = {number("axis", 1), ints("split", {1, 5})},
       .outputs = 2},
      {.op = "Gather",
       .inputs = {kPicture},
       .attributes = {number("axis", 1)},
       .constants = {list({2, 0, 2})}},
      {.opset = 1,
       .op = "Pad",
       .inputs = {{2, 3}},
       .attributes = {ints("paddings", {0, 1, 2, 0}), real("value", 3)}},
      {.opset = 2,
       .op = "Pad",
       .inputs = {kPicture},
       .attributes = {ints("pads", {0, 0, 1, 2, 0, 0, 3, 4})}},
      {.op = "Pad", .inputs = {kPicture}, .constants = {list({0, 0, -1, 0, 0, 0, -1, 2})}},
      {.op = "Pad",
       .inputs = {{1, 2, 5, 4}},
       .attributes = {word("mode", "reflect")},
       .constants = {list({0, 0, 1, 2, 0, 0, 2, 1})}},
      {.op = "Pad",
       .inputs = {{1, 2, 5, 4}},
       .attributes = {word("mode", "edge")},
       .constants = {list({0, 0, 1, 2, 0, 0, 2, 1})}},
      {.op = "DepthToSpace",
       .inputs = {{1, 8, 2, 3}},
       .attributes = {number("blocksize", 2), word("mode", "CRD")}},
      {.op = "DepthToSpace", .inputs = {{1, 9, 2, 1}}, .attributes = {number("blocksize", 3)}},
      {.op = "SpaceToDepth", .inputs = {{1, 2, 4, 6}}, .attributes = {number("blocksize", 2)}},
      {.opset = 10,
       .op = "Resize",
       .inputs = {{1, 2, 3, 2}},
       .constants = {reals({1, 1, 2, 3}, {4})}},
      {.op = "Resize",
       .inputs = {{1, 2, 3, 4}},
       .attributes = {word("mode", "linear")},
       .constants = {absent(), absent(), list({1, 2, 5, 7})}},
      {.op = "Resize",
       .inputs = {{1, 1, 4, 4}},
       .attributes = {word("mode", "cubic")},
       .constants = {absent(), absent(), list({1, 1, 6, 3})}},
      {.opset = 9,
       .op = "Upsample",
       .inputs = {{1, 2, 3, 4}},
       .constants = {reals({1, 1, 2, 3}, {4})}},
      {.opset = 8,
       .op = "Upsample",
       .inputs = {{1, 1, 3, 4}},
       .attributes = {word("mode", "linear"), scales({1, 1, 2, 2})}},
  };
}

// Recurrences and attention.
std::vector<Case> sequences() {
  return {
      {.opset = 14, .op = "RNN", .inputs = {{2, 2, 3}, {1, 2, 3}, {1, 2, 2}, {1, 4}}},
      {.opset = 14,
       .op = "GRU",
       .inputs = {{2, 1, 3}, {1, 6, 3}, {1, 6, 2}, {1, 12}},
       .attributes = {number("linear_before_reset", 1)}},
      {.opset = 14,
       .op = "LSTM",
       .inputs = {{2, 1, 2}, {2, 8, 2}, {2, 8, 2}},
       .attributes = {word("direction", "bidirectional")}},
      {.opset = 23,
       .op = "Attention",
       .inputs = {{1, 2, 3, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}},
       .attributes = {number("is_causal", 1)}},
      {.opset = 23,
       .op = "RotaryEmbedding",
       .inputs = {{1, 2, 3, 4}, {1, 3, 2}, {1, 3, 2}},
       .attributes = {number("interleaved", 1)}},
  };
}

// What chooses by position, losses and samples. Positions are constant; data is not.
std::vector<Case> choices() {
  return {
      {.op = "Gather", .inputs = {{3, 2}}, .constants = {list({2, 0, 2})}},
      {.op = "GatherElements",
       .inputs = {{2, 3}},
       .attributes = {number("axis", 1)},
       .constants = {int64_tensor("l", {2, 2}, {0, -1, 1, 1})}},
      {.op = "GatherND",
       .inputs = {{2, 3, 2}},
       .constants = {int64_tensor("l", {2, 2}, {1, 2, 0, -1})}},
      {.opset = 18,
       .op = "ScatterElements",
       .inputs = {{3, 2}},
       .attributes = {word("reduction", "add")},
       .constants = {int64_tensor("l", {1, 2}, {2, 0}), reals({2, 3}, {1, 2})}},
      {.opset = 10,
       .op = "Scatter",
       .inputs = {{3, 2}},
       .constants = {int64_tensor("l", {1, 2}, {2, 0}), reals({2, 3}, {1, 2})}},
      {.op = "ScatterND",
       .inputs = {{3, 2}},
       .constants = {int64_tensor("l", {1, 1}, {2}), reals({2, 3}, {1, 2})}},
      {.op = "TopK", .inputs = {{2, 5}}, .constants = {list({2})}},
      {.opset = 14, .op = "Trilu", .inputs = {kSmall}},
      {.opset = 14, .op = "CumSum", .inputs = {kSmall}, .constants = {int64_tensor("l", {}, {1})}},
      {.opset = 26, .op = "CumProd", .inputs = {{2, 3}}, .constants = {int64_tensor("l", {}, {1})}},
      {.op = "MaxUnpool",
       .inputs = {{1, 1, 1, 2}},
       .attributes = {ints("kernel_shape", {2, 2}), ints("strides", {2, 2})},
       .constants = {int64_tensor("l", {1, 1, 1, 2}, {1, 6})}},
      {.op = "NegativeLogLikelihoodLoss",
       .inputs = {{3, 4}},
       .constants = {list({1, 3, 0}), reals({1, 2, 3, 4}, {4})}},
      {.op = "SoftmaxCrossEntropyLoss",
       .inputs = {{2, 3, 2}},
       .attributes = {number("ignore_index", 1)},
       .constants = {int64_tensor("l", {2, 2}, {0, 1, 2, 2})},
       .outputs = 2},
      {.opset = 20, .op = "AffineGrid", .inputs = {{1, 2, 3}}, .constants = {list({1, 2, 3, 4})}},
      {.opset = 16,
       .op = "GridSample",
       .inputs = {{1, 2, 3, 4}},
       .constants = {reals({-0.5, 0.25, 0.75, 0.1, 0.9, -1.2}, {1, 1, 3, 2})}},
      {.opset = 19,
       .op = "DeformConv",
       .inputs = {{1, 2, 3, 3}, {2, 2, 2, 2}},
       .constants = {reals({0.3F,  0.1F,  -0.2F, 0.4F, 0.25F, 0.6F,  0.7F,  -0.4F, 0.2F, 0.1F, 0.3F,
                            0.45F, 0.55F, 0.65F, 0.8F, 0.9F,  0.15F, -0.3F, 0.35F, 0.2F, 0.1F, 0.4F,
                            0.3F,  0.2F,  0.1F,  0.6F, 0.7F,  0.2F,  0.3F,  0.1F,  0.2F, 0.7F},
                           {1, 8, 2, 2})}},
      {.opset = 16,
       .op = "RoiAlign",
       .inputs = {{2, 1, 4, 5}},
       .attributes = {number("sampling_ratio", 2), number("output_height", 2)},
       .constants = {reals({0.2F, 0.3F, 3.1F, 2.7F, 1, 0, 4.4F, 3.2F}, {2, 4}), list({1, 0})}},
      {.opset = 18, .op = "CenterCropPad", .inputs = {{3, 5}}, .constants = {list({4, 2})}},
      {.opset = 19,
       .op = "Pad",
       .inputs = {{2, 4}},
       .attributes = {word("mode", "wrap")},
       .constants = {list({0, 1, 0, 2})}},
      {.opset = 19,
       .op = "Resize",
       .inputs = {{1, 1, 6, 4}},
       .attributes = {word("mode", "linear"), number("antialias", 1)},
       .constants = {absent(), absent(), list({1, 1, 4, 3})}},
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const std::vector<Case> &some :
       {convolutions(), pools(), normalisations(), unary(), pointwise(), reductions(), movements(),
        choices(), sequences()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class OperatorGradient : public testing::TestWithParam<Case> {};

TEST_P(OperatorGradient, IsTheSlopeOfItsResult) {
  program::testing::expect_gradients(import(model_of(GetParam())), GetParam().source);
}

INSTANTIATE_TEST_SUITE_P(All, OperatorGradient, testing::ValuesIn(all_cases()));

// Results that are no numbers, that come from no numbers, or from numbers known at import; and what
// rounds to integers or computes with them.
const std::set<std::string_view> kWithoutGradient = {"And",
                                                     "Or",
                                                     "Not",
                                                     "Xor",
                                                     "Equal",
                                                     "Greater",
                                                     "GreaterOrEqual",
                                                     "Less",
                                                     "IsNaN",
                                                     "LessOrEqual",
                                                     "Constant",
                                                     "ConstantOfShape",
                                                     "Range",
                                                     "Shape",
                                                     "Size",
                                                     "QuantizeLinear",
                                                     "DequantizeLinear",
                                                     "QLinearConv",
                                                     "QLinearMatMul",
                                                     "ConvInteger",
                                                     "MatMulInteger",
                                                     "DynamicQuantizeLinear",
                                                     "IsInf",
                                                     "BitShift",
                                                     "BitwiseAnd",
                                                     "BitwiseNot",
                                                     "BitwiseOr",
                                                     "BitwiseXor",
                                                     "ArgMax",
                                                     "ArgMin",
                                                     "Hardmax",
                                                     "OneHot",
                                                     "EyeLike",
                                                     "NonZero",
                                                     "Compress",
                                                     "Adagrad",
                                                     "Adam",
                                                     "Momentum",
                                                     "If"};

TEST(OperatorGradients, CoverEveryRowOfTheTable) {
  const std::vector<Case> cases = all_cases();
  for (const Operator &row : operators()) {
    const bool has_case = std::any_of(cases.begin(), cases.end(), [&](const Case &c) {
      return find_operator(c.op, c.opset) == &row;
    });
    EXPECT_NE(has_case, kWithoutGradient.contains(row.type) || row.type == "Where")
        << row.type << " since opset " << row.since;
  }
}

// Its condition is a bool.
TEST(OperatorGradients, WhereGivesToTheChosenOperand) {
  ModelBuilder model(13);
  model.input("c", {2, 3}, TensorProto::BOOL).input("a", {2, 3}).input("b", {3});
  model.node("Where", {"c", "a", "b"}, {"y"}).output("y");
  program::testing::expect_gradients(import(model));
}

// GroupNormalization as exporters write it: an instance normalisation of the groups.
TEST(OperatorGradients, OfGroupNormalisation) {
  ModelBuilder model(13);
  model.input("x", {2, 6, 2, 3}).input("scale", {6, 1, 1}).input("bias", {6, 1, 1});
  model.initializer(list({0, 3, -1}, "groups")).initializer(list({2, 6, 2, 3}, "shape"));
  model.initializer(reals({1, 1, 1}, {3})).initializer(float_tensor("zeros", {3}));
  model.node("Reshape", {"x", "groups"}, {"g"})
      .node("InstanceNormalization", {"g", "r", "zeros"}, {"i"})
      .node("Reshape", {"i", "shape"}, {"n"})
      .node("Mul", {"n", "scale"}, {"m"})
      .node("Add", {"m", "bias"}, {"y"})
      .output("y");
  program::testing::expect_gradients(import(model));
}

} // namespace
} // namespace tilefuse::onnx_import
