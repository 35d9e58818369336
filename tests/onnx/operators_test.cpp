// SPDX-License-Identifier: Apache-2.0
// Each operator: the shape of its result, by opset where that matters.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nest/evaluate/reference.h"
#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::AttributeProto;

struct Case {
  std::int64_t opset;
  std::string op;
  std::vector<Dims> inputs; // floats
  std::vector<AttributeProto> attributes;
  Dims result;
  std::vector<Dims> lists; // constant integer operands after the inputs
};

// Named, so that a failure tells which operator it is.
void PrintTo(const Case &c, std::ostream *out) { *out << c.op << " opset " << c.opset; }

ModelBuilder model_of(const Case &c) {
  ModelBuilder model(c.opset);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back(fmt::format("x{}", i));
    model.input(names.back(), c.inputs[i]);
  }
  for (std::size_t i = 0; i < c.lists.size(); ++i) {
    names.push_back(fmt::format("l{}", i));
    model.initializer(
        int64_tensor(names.back(), {static_cast<std::int64_t>(c.lists[i].size())}, c.lists[i]));
  }
  model.node(c.op, names, {"y"}, c.attributes).output("y");
  return model;
}

class OperatorShape : public testing::TestWithParam<Case> {};

TEST_P(OperatorShape, is_inferred) {
  const program::Program program = import(model_of(GetParam()));
  EXPECT_EQ(output_shape(program), GetParam().result);
  EXPECT_EQ(program[program.outputs[0]].name, "y");
  EXPECT_EQ(program.inputs.size(), GetParam().inputs.size());
  for (const auto &statement : program.statements)
    EXPECT_TRUE(statement.origin == GetParam().op + " y" || statement.origin == "copy y")
        << statement.origin;
}

AttributeProto ints(const std::string &name, const Dims &values) { return attribute(name, values); }
AttributeProto number(const std::string &name, std::int64_t value) {
  return attribute(name, value);
}
AttributeProto word(const std::string &name, const std::string &value) {
  return attribute(name, value);
}
AttributeProto real(const std::string &name, double value) { return attribute(name, value); }

const Dims kPicture{1, 3, 7, 5};

INSTANTIATE_TEST_SUITE_P(
    Convolutions, OperatorShape,
    testing::Values(
        Case{13, "Conv", {kPicture, {4, 3, 3, 3}}, {}, {1, 4, 5, 3}, {}},
        Case{13,
             "Conv",
             {kPicture, {4, 3, 3, 3}, {4}},
             {ints("pads", {1, 1, 1, 1})},
             {1, 4, 7, 5},
             {}},
        Case{13,
             "Conv",
             {kPicture, {4, 3, 3, 3}},
             {ints("pads", {0, 1, 2, 3}), ints("strides", {2, 3})},
             {1, 4, 4, 3},
             {}},
        Case{13, "Conv", {kPicture, {4, 3, 2, 2}}, {ints("dilations", {3, 2})}, {1, 4, 4, 3}, {}},
        Case{13,
             "Conv",
             {kPicture, {4, 3, 2, 2}},
             {word("auto_pad", "SAME_UPPER"), ints("strides", {2, 2})},
             {1, 4, 4, 3},
             {}},
        Case{13,
             "Conv",
             {kPicture, {4, 3, 2, 2}},
             {word("auto_pad", "SAME_LOWER")},
             {1, 4, 7, 5},
             {}},
        Case{13, "Conv", {kPicture, {4, 3, 2, 2}}, {word("auto_pad", "VALID")}, {1, 4, 6, 4}, {}},
        Case{13, "Conv", {kPicture, {3, 1, 3, 3}}, {number("group", 3)}, {1, 3, 5, 3}, {}},
        Case{13, "Conv", {{1, 4, 5, 5}, {6, 2, 1, 1}}, {number("group", 2)}, {1, 6, 5, 5}, {}},
        Case{13, "Conv", {{2, 3, 9}, {4, 3, 3}}, {}, {2, 4, 7}, {}},
        Case{13,
             "Conv",
             {{1, 2, 2}, {4, 2, 1}},
             {ints("strides", {3}), ints("pads", {1, 0})},
             {1, 4, 1},
             {}},
        Case{13, "Conv", {{1, 2, 4, 5, 6}, {3, 2, 2, 2, 2}}, {}, {1, 3, 3, 4, 5}, {}},
        Case{13,
             "ConvTranspose",
             {kPicture, {3, 4, 3, 3}},
             {ints("strides", {2, 2})},
             {1, 4, 15, 11},
             {}},
        Case{13,
             "ConvTranspose",
             {kPicture, {3, 4, 3, 3}},
             {ints("strides", {2, 2}), word("auto_pad", "SAME_UPPER")},
             {1, 4, 14, 10},
             {}},
        Case{13,
             "ConvTranspose",
             {kPicture, {3, 4, 2, 2}},
             {ints("strides", {3, 3}), ints("output_padding", {1, 1})},
             {1, 4, 21, 15},
             {}},
        Case{13, "Gemm", {{2, 3}, {3, 4}, {4}}, {}, {2, 4}, {}},
        Case{13,
             "Gemm",
             {{3, 2}, {4, 3}},
             {number("transA", 1), number("transB", 1), real("alpha", 0.5)},
             {2, 4},
             {}},
        Case{13, "Gemm", {{2, 3}, {3, 4}, {1}}, {real("beta", 2)}, {2, 4}, {}},
        Case{13, "MatMul", {{2, 3}, {3, 4}}, {}, {2, 4}, {}},
        Case{13, "MatMul", {{3}, {3, 4}}, {}, {4}, {}}, Case{13, "MatMul", {{3}, {3}}, {}, {}, {}},
        Case{13, "MatMul", {{5, 2, 3}, {3, 4}}, {}, {5, 2, 4}, {}},
        Case{13, "MatMul", {{2, 3}, {6, 5, 3, 4}}, {}, {6, 5, 2, 4}, {}},
        Case{13, "MatMul", {{6, 1, 2, 3}, {5, 3, 4}}, {}, {6, 5, 2, 4}, {}}));

INSTANTIATE_TEST_SUITE_P(
    Pools, OperatorShape,
    testing::Values(Case{12,
                         "MaxPool",
                         {kPicture},
                         {ints("kernel_shape", {2, 2}), ints("strides", {2, 2})},
                         {1, 3, 3, 2},
                         {}},
                    Case{12,
                         "MaxPool",
                         {kPicture},
                         {ints("kernel_shape", {2, 2}), ints("strides", {2, 2}),
                          number("ceil_mode", 1)},
                         {1, 3, 4, 3},
                         {}},
                    // The last window of ceil mode would start in the trailing padding: dropped.
                    Case{12,
                         "MaxPool",
                         {{1, 1, 4, 4}},
                         {ints("kernel_shape", {1, 1}), ints("strides", {2, 2}),
                          ints("pads", {0, 0, 1, 1}), number("ceil_mode", 1)},
                         {1, 1, 2, 2},
                         {}},
                    Case{12,
                         "MaxPool",
                         {kPicture},
                         {ints("kernel_shape", {2, 2}), ints("dilations", {2, 3})},
                         {1, 3, 5, 2},
                         {}},
                    Case{12, "MaxPool", {{1, 2, 9}}, {ints("kernel_shape", {3})}, {1, 2, 7}, {}},
                    Case{11,
                         "AveragePool",
                         {kPicture},
                         {ints("kernel_shape", {3, 3}), ints("pads", {1, 1, 1, 1})},
                         {1, 3, 7, 5},
                         {}},
                    Case{11,
                         "AveragePool",
                         {kPicture},
                         {ints("kernel_shape", {3, 3}), ints("pads", {1, 1, 1, 1}),
                          number("count_include_pad", 1)},
                         {1, 3, 7, 5},
                         {}},
                    Case{11,
                         "AveragePool",
                         {kPicture},
                         {ints("kernel_shape", {3, 3}), word("auto_pad", "SAME_LOWER")},
                         {1, 3, 7, 5},
                         {}},
                    Case{11,
                         "AveragePool",
                         {{1, 1, 4, 4, 4}},
                         {ints("kernel_shape", {2, 2, 2})},
                         {1, 1, 3, 3, 3},
                         {}},
                    Case{11, "GlobalAveragePool", {kPicture}, {}, {1, 3, 1, 1}, {}},
                    Case{11, "GlobalMaxPool", {{2, 3, 9}}, {}, {2, 3, 1}, {}}));

INSTANTIATE_TEST_SUITE_P(
    Normalisations, OperatorShape,
    testing::Values(
        Case{9, "BatchNormalization", {kPicture, {3}, {3}, {3}, {3}}, {}, kPicture, {}},
        Case{14,
             "BatchNormalization",
             {{4, 3}, {3}, {3}, {3}, {3}},
             {real("epsilon", 1e-3)},
             {4, 3},
             {}},
        Case{9, "InstanceNormalization", {kPicture, {3}, {3}}, {}, kPicture, {}},
        Case{17, "LayerNormalization", {{2, 3, 4}, {4}, {4}}, {}, {2, 3, 4}, {}},
        Case{17, "LayerNormalization", {{2, 3, 4}, {3, 4}}, {number("axis", 1)}, {2, 3, 4}, {}},
        Case{9, "LRN", {kPicture}, {number("size", 3)}, kPicture, {}},
        Case{7, "Softmax", {{1, 10, 1, 1}}, {}, {1, 10, 1, 1}, {}},
        Case{13, "Softmax", {kPicture}, {number("axis", 1)}, kPicture, {}},
        Case{16, "LogSoftmax", {{2, 10}}, {}, {2, 10}, {}}));

INSTANTIATE_TEST_SUITE_P(
    Pointwise, OperatorShape,
    testing::Values(
        Case{13, "Relu", {kPicture}, {}, kPicture, {}}, Case{13, "Sigmoid", {{}}, {}, {}, {}},
        Case{13, "LeakyRelu", {kPicture}, {real("alpha", 0.1)}, kPicture, {}},
        Case{13, "Elu", {kPicture}, {}, kPicture, {}},
        Case{13, "HardSigmoid", {kPicture}, {real("beta", 0.3)}, kPicture, {}},
        Case{14, "HardSwish", {kPicture}, {}, kPicture, {}},
        Case{13, "Exp", {kPicture}, {}, kPicture, {}},
        Case{6, "Add", {kPicture, {3}}, {number("broadcast", 1), number("axis", 1)}, kPicture, {}},
        Case{6,
             "Mul",
             {kPicture, {7, 5}},
             {number("broadcast", 1), number("axis", 2)},
             kPicture,
             {}},
        Case{13, "Add", {kPicture, {3, 1, 1}}, {}, kPicture, {}},
        Case{13, "Sub", {{3, 1}, {1, 4}}, {}, {3, 4}, {}},
        Case{13, "Pow", {kPicture, {}}, {}, kPicture, {}},
        Case{13, "Less", {kPicture, kPicture}, {}, kPicture, {}},
        Case{13, "Sum", {kPicture, {1}, {5}}, {}, kPicture, {}},
        Case{13, "Max", {kPicture}, {}, kPicture, {}},
        Case{13, "Mean", {kPicture, kPicture, kPicture}, {}, kPicture, {}},
        Case{6, "Clip", {kPicture}, {real("min", 0), real("max", 6)}, kPicture, {}},
        Case{6, "Clip", {kPicture}, {}, kPicture, {}},
        Case{13, "Clip", {kPicture, {}, {}}, {}, kPicture, {}},
        Case{6, "PRelu", {kPicture, {3}}, {}, kPicture, {}},
        Case{13, "PRelu", {kPicture, {3, 1, 1}}, {}, kPicture, {}},
        Case{13, "Cast", {kPicture}, {number("to", onnx::TensorProto::FLOAT16)}, kPicture, {}},
        Case{10, "Mod", {{4}, {4}}, {number("fmod", 1)}, {4}, {}},
        Case{20, "Gelu", {{4}}, {word("approximate", "tanh")}, {4}, {}},
        Case{13, "Dropout", {kPicture}, {}, kPicture, {}},
        Case{13, "Identity", {kPicture}, {}, kPicture, {}}));

INSTANTIATE_TEST_SUITE_P(
    Reductions, OperatorShape,
    testing::Values(
        Case{13, "ReduceMean", {kPicture}, {ints("axes", {2, 3})}, {1, 3, 1, 1}, {}},
        Case{13,
             "ReduceMean",
             {kPicture},
             {ints("axes", {-1, -2}), number("keepdims", 0)},
             {1, 3},
             {}},
        Case{13, "ReduceMax", {kPicture}, {}, {1, 1, 1, 1}, {}},
        Case{
            11, "ReduceSum", {kPicture}, {ints("axes", {1, 3}), number("keepdims", 0)}, {1, 7}, {}},
        Case{13, "ReduceSum", {kPicture}, {}, {1, 3, 7, 1}, {{3}}},
        Case{18, "ReduceL2", {kPicture}, {number("keepdims", 0)}, {1, 5}, {{1, 2}}},
        Case{18, "ReduceLogSumExp", {kPicture}, {}, {1, 3, 1, 5}, {{2}}},
        Case{13, "ReduceSum", {kPicture}, {number("noop_with_empty_axes", 1)}, kPicture, {}}));

INSTANTIATE_TEST_SUITE_P(
    Movement, OperatorShape,
    testing::Values(
        Case{5, "Reshape", {{2, 3, 4}}, {}, {2, 12}, {{0, -1}}},
        Case{1, "Reshape", {{2, 3, 4}}, {ints("shape", {4, 6})}, {4, 6}, {}},
        Case{13, "Flatten", {{2, 3, 4}}, {}, {2, 12}, {}},
        Case{13, "Flatten", {{2, 3, 4}}, {number("axis", 0)}, {1, 24}, {}},
        Case{13, "Flatten", {{2, 3, 4}}, {number("axis", -1)}, {6, 4}, {}},
        Case{11, "Squeeze", {{1, 3, 1}}, {}, {3}, {}},
        Case{13, "Squeeze", {{1, 3, 1}}, {}, {1, 3}, {{-1}}},
        Case{11, "Unsqueeze", {{3}}, {ints("axes", {0, 2})}, {1, 3, 1}, {}},
        Case{13, "Unsqueeze", {{3}}, {}, {1, 3}, {{0}}},
        Case{13, "Transpose", {kPicture}, {}, {5, 7, 3, 1}, {}},
        Case{13, "Transpose", {kPicture}, {ints("perm", {0, 2, 3, 1})}, {1, 7, 5, 3}, {}},
        Case{13, "Transpose", {{1, 3, 1, 5}}, {ints("perm", {1, 0, 2, 3})}, {3, 1, 1, 5}, {}},
        Case{13, "Expand", {{3, 1}}, {}, {2, 3, 4}, {{2, 1, 4}}},
        Case{13, "Tile", {{2, 3}}, {}, {4, 9}, {{2, 3}}},
        Case{13,
             "Concat",
             {kPicture, {1, 2, 7, 5}, {1, 1, 7, 5}},
             {number("axis", 1)},
             {1, 6, 7, 5},
             {}},
        Case{13, "Concat", {{2, 3}, {2, 4}}, {number("axis", -1)}, {2, 7}, {}},
        Case{13, "Concat", {{2, 3}}, {number("axis", 0)}, {2, 3}, {}},
        Case{9,
             "Slice",
             {kPicture},
             {ints("axes", {2}), ints("starts", {1}), ints("ends", {9223372036854775807})},
             {1, 3, 6, 5},
             {}},
        Case{13, "Slice", {kPicture}, {}, {1, 3, 4, 3}, {{0, 0}, {100, 100}, {2, 3}, {2, 2}}},
        Case{13, "Slice", {{10}}, {}, {5}, {{-1}, {-100}, {0}, {-2}}},
        Case{13, "Slice", {{10}}, {}, {2}, {{-3}, {-1}}},
        Case{13, "Split", {{2, 6}}, {number("axis", 1)}, {2, 6}, {}},
        Case{13, "Gather", {kPicture}, {number("axis", 1)}, {1, 2, 7, 5}, {{2, 0}}},
        Case{13, "Gather", {kPicture}, {number("axis", -1)}, {1, 3, 7, 3}, {{0, 3, -1}}},
        Case{2, "Pad", {kPicture}, {ints("pads", {0, 0, 1, 2, 0, 0, 3, 4})}, {1, 3, 11, 11}, {}},
        Case{13, "Pad", {kPicture}, {}, {1, 3, 5, 5}, {{0, 0, -1, 0, 0, 0, -1, 0}}},
        Case{13,
             "Pad",
             {kPicture},
             {word("mode", "reflect")},
             {1, 3, 10, 5},
             {{0, 0, 1, 0, 0, 0, 2, 0}}},
        Case{11,
             "DepthToSpace",
             {{1, 8, 2, 3}},
             {number("blocksize", 2), word("mode", "CRD")},
             {1, 2, 4, 6},
             {}},
        Case{11, "SpaceToDepth", {{1, 2, 4, 6}}, {number("blocksize", 2)}, {1, 8, 2, 3}, {}}));

TEST(Split, makes_each_part) {
  ModelBuilder model(13);
  model.input("x", {2, 6}).initializer(int64_tensor("sizes", {3}, {1, 2, 3}));
  model.node("Split", {"x", "sizes"}, {"a", "b", "c"}, {attribute("axis", std::int64_t{1})});
  const program::Program program = import(model.output("c").output("a").output("b"));
  EXPECT_EQ(output_shape(program, 0), (Dims{2, 3}));
  EXPECT_EQ(output_shape(program, 1), (Dims{2, 1}));
  EXPECT_EQ(output_shape(program, 2), (Dims{2, 2}));
}

ModelBuilder resize_model(const std::string &mode, const std::string &coordinates,
                          const Dims &sizes) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 3, 4}).initializer(int64_tensor("sizes", {4}, sizes));
  model.node("Resize", {"x", "", "", "sizes"}, {"y"},
             {attribute("mode", mode), attribute("coordinate_transformation_mode", coordinates)});
  model.output("y");
  return model;
}

bool uses_weights(const program::Program &program) {
  for (const program::Tensor &tensor : program.tensors)
    if (tensor.name == "resize weights")
      return true;
  return false;
}

TEST(Resize, by_whole_factors_only_repeats_elements) {
  for (const std::string coordinates : {"half_pixel", "asymmetric", "pytorch_half_pixel"}) {
    const program::Program program = import(resize_model("nearest", coordinates, {1, 2, 6, 8}));
    EXPECT_EQ(output_shape(program), (Dims{1, 2, 6, 8}));
    EXPECT_FALSE(uses_weights(program)) << coordinates;
  }
}

TEST(Resize, interpolates_otherwise) {
  EXPECT_TRUE(uses_weights(import(resize_model("nearest", "align_corners", {1, 2, 9, 12}))));
  EXPECT_TRUE(uses_weights(import(resize_model("linear", "half_pixel", {1, 2, 6, 8}))));
  EXPECT_EQ(output_shape(import(resize_model("cubic", "half_pixel", {1, 2, 5, 3}))),
            (Dims{1, 2, 5, 3}));
}

// Runs, phases and neighbours where the sizes have a common factor; else [new, old].
TEST(Resize, sums_few_neighbours) {
  const auto weights = [](std::int64_t size) {
    onnx::TensorProto sizes = int64_tensor("sizes", {1}, {size});
    ModelBuilder model(18);
    model.input("x", {24}).initializer(sizes);
    model.node("Resize", {"x", "", "", "sizes"}, {"y"}, {word("mode", "linear")}).output("y");
    for (const program::Tensor &tensor : import(model).tensors)
      if (tensor.name == "resize weights")
        return tensor.shape;
    return program::Shape{};
  };
  EXPECT_EQ(weights(48), (Dims{24, 2, 3}));
  EXPECT_EQ(weights(96), (Dims{24, 4, 3}));
  EXPECT_EQ(weights(36), (Dims{12, 3, 4}));
  EXPECT_EQ(weights(12), (Dims{12, 1, 2}));
  EXPECT_EQ(weights(25), (Dims{25, 24}));
}

struct Picks {
  float scale;
  std::string coordinates;
  std::string nearest;
  std::int64_t size;
  Dims elements; // onnxruntime's
};

// The elements that a resized row of 0, 1, 2 … consists of.
Dims picked(const program::Program &program, std::int64_t size) {
  program::HostTensor row = program::make_host_tensor("x", DType::F32, {1, 1, 1, size});
  for (std::int64_t i = 0; i < size; ++i)
    program::set(row, i, static_cast<double>(i));
  const program::HostTensor result = nest::evaluate_program(program, {{"x", row}}).at(0);
  Dims elements;
  for (std::int64_t i = 0; i < program::elems(result.shape); ++i)
    elements.push_back(static_cast<std::int64_t>(program::get(result, i)));
  return elements;
}

TEST(Resize, picks_the_nearest_element_in_single_precision) {
  const std::vector<Picks> all = {
      {0.6F, "half_pixel", "floor", 5, {0, 2, 3}},
      {0.6F, "half_pixel", "round_prefer_floor", 5, {0, 2, 4}},
      {0.6F, "asymmetric", "floor", 10, {0, 1, 3, 5, 6, 8}},
      {0.6F, "pytorch_half_pixel", "floor", 10, {0, 2, 3, 5, 6, 8}},
      {1.4F, "half_pixel", "ceil", 5, {0, 1, 2, 2, 3, 4, 4}},
      {1.2F, "asymmetric", "round_prefer_ceil", 5, {0, 1, 2, 3, 3, 4}},
      {1.2F, "asymmetric", "floor", 10, {0, 0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9}},
      {0.3F, "half_pixel", "round_prefer_ceil", 10, {1, 5, 8}},
      {1.4F, "half_pixel_symmetric", "floor", 5, {0, 0, 1, 2, 2, 3, 4}},
  };
  for (const Picks &test : all) {
    onnx::TensorProto scales = float_tensor("scales", {4});
    scales.clear_float_data();
    for (const float scale : {1.0F, 1.0F, 1.0F, test.scale})
      scales.add_float_data(scale);
    ModelBuilder model(13);
    model.input("x", {1, 1, 1, test.size}).initializer(scales);
    model.node("Resize", {"x", "", "scales"}, {"y"},
               {word("mode", "nearest"), word("nearest_mode", test.nearest),
                word("coordinate_transformation_mode", test.coordinates)});
    EXPECT_EQ(picked(import(model.output("y")), test.size), test.elements)
        << test.scale << " " << test.coordinates << " " << test.nearest;
  }
}

TEST(Resize, of_another_mode_is_refused_before_anything_else) {
  const Error error = error_of([] {
    import(resize_model("nearest", "half_pixel_odd", {1, 2, 6, 8}));
  });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_NE(error.message().find("half_pixel_odd"), std::string::npos);
}

TEST(Upsample, of_opset_9_reads_scales) {
  ModelBuilder model(9);
  onnx::TensorProto scales = float_tensor("scales", {4});
  scales.clear_float_data();
  for (const float scale : {1.0F, 1.0F, 2.0F, 3.0F})
    scales.add_float_data(scale);
  model.input("x", {1, 2, 3, 4})
      .initializer(scales)
      .node("Upsample", {"x", "scales"}, {"y"})
      .output("y");
  EXPECT_EQ(output_shape(import(model)), (Dims{1, 2, 6, 12}));
}

// Before opset 13 a softmax runs over everything from its axis on; afterwards over one axis.
TEST(Softmax, changed_its_meaning_with_opset_13) {
  const auto first_view = [](std::int64_t opset) {
    ModelBuilder model(opset);
    model.input("x", {2, 3, 4})
        .node("Softmax", {"x"}, {"y"}, {attribute("axis", std::int64_t{1})})
        .output("y");
    const program::Program program = import(model);
    return program[program.statements.front().out].shape;
  };
  EXPECT_EQ(first_view(12), (Dims{2, 12, 1}));
  EXPECT_NE(first_view(13), (Dims{2, 12, 1}));
}

} // namespace
} // namespace tilefuse::onnx_import
