// SPDX-License-Identifier: Apache-2.0
// Which initializers of a model are parameters, in the forms in which PyTorch exports layers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

onnx::TensorProto number(const std::string &name) { return float_tensor(name, {}); }

std::vector<std::string> names_of(const std::vector<Parameter> &parameters) {
  std::vector<std::string> names;
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name);
  return names;
}

Model model_of(const ModelBuilder &builder) {
  return Model(builder.proto.SerializeAsString(), ".");
}

using Names = std::vector<std::string>;

// nn.Linear of three dimensions: the matrix is [outputs, inputs], a Transpose stands before the product.
TEST(Parameters, a_matrix_behind_a_transpose) {
  ModelBuilder model(17);
  model.input("x", {1, 3, 4})
      .initializer(float_tensor("weight", {2, 4}))
      .initializer(float_tensor("bias", {2}))
      .node("Transpose", {"weight"}, {"turned"}, {attribute("perm", Dims{1, 0})})
      .node("MatMul", {"x", "turned"}, {"product"})
      .node("Add", {"bias", "product"}, {"y"})
      .output("y");
  const std::vector<Parameter> found = model_of(model).parameters();
  ASSERT_EQ(names_of(found), (Names{"weight", "bias"}));
  EXPECT_EQ(found[0].kind, ParameterKind::Weight);
  EXPECT_TRUE(found[0].is_transposed);
  EXPECT_EQ(found[0].shape, (program::Shape{2, 4}));
  EXPECT_EQ(found[1].kind, ParameterKind::Bias);
  EXPECT_TRUE(model_of(model).left_as_they_are().empty());
}

// Swin: rows of a table, by index and in another order, are added to the scores; the mask that follows is none.
TEST(Parameters, a_table_of_relative_positions) {
  ModelBuilder model(17);
  model.input("q", {2, 3, 4, 5})
      .input("k", {2, 3, 5, 4})
      .initializer(float_tensor("table", {7, 3}))
      .initializer(int64_tensor("index", {16}, {0, 1, 2, 3, 1, 0, 4, 5, 2, 4, 0, 6, 3, 5, 6, 0}))
      .initializer(int64_tensor("square", {3}, {4, 4, 3}))
      .initializer(int64_tensor("windows", {5}, {1, 2, 3, 4, 4}))
      .initializer(number("factor"))
      .initializer(float_tensor("mask", {2, 1, 4, 4}))
      .node("MatMul", {"q", "k"}, {"product"})
      .node("Mul", {"product", "factor"}, {"scores"})
      .node("Gather", {"table", "index"}, {"rows"})
      .node("Reshape", {"rows", "square"}, {"grid"})
      .node("Transpose", {"grid"}, {"heads"}, {attribute("perm", Dims{2, 0, 1})})
      .node("Add", {"scores", "heads"}, {"biased"})
      .node("Reshape", {"biased", "windows"}, {"parted"})
      .node("Add", {"parted", "mask"}, {"y"})
      .output("y");
  const std::vector<Parameter> found = model_of(model).parameters();
  ASSERT_EQ(names_of(found), (Names{"table"}));
  EXPECT_EQ(found[0].kind, ParameterKind::Bias);
  EXPECT_EQ(names_of(model_of(model).left_as_they_are()), (Names{"mask"}));
}

// ViT: patches behind a class token, and a vector for each place.
TEST(Parameters, places_of_patches) {
  ModelBuilder model(17);
  model.input("x", {1, 3, 4, 4})
      .initializer(float_tensor("patch", {5, 3, 2, 2}))
      .initializer(float_tensor("token", {1, 1, 5}))
      .initializer(float_tensor("places", {1, 5, 5}))
      .initializer(int64_tensor("rows", {3}, {1, 5, 4}))
      .node("Conv", {"x", "patch"}, {"c"}, {attribute("strides", Dims{2, 2})})
      .node("Reshape", {"c", "rows"}, {"flat"})
      .node("Transpose", {"flat"}, {"t"}, {attribute("perm", Dims{0, 2, 1})})
      .node("Concat", {"token", "t"}, {"all"}, {attribute("axis", std::int64_t{1})})
      .node("Add", {"all", "places"}, {"y"})
      .output("y");
  EXPECT_EQ(names_of(model_of(model).parameters()), (Names{"patch", "places"}));
  EXPECT_EQ(names_of(model_of(model).left_as_they_are()), (Names{"token"}));
}

// ConvNeXt's scale of a branch, by channel and behind a move; the tables of rotary positions have two dimensions.
TEST(Parameters, scales_of_channels_and_not_of_places) {
  ModelBuilder model(17);
  model.input("x", {1, 3, 4})
      .initializer(float_tensor("weight", {4, 6}))
      .initializer(float_tensor("bias", {6}))
      .initializer(float_tensor("scale", {6, 1}))
      .initializer(float_tensor("cosine", {3, 6}))
      .node("MatMul", {"x", "weight"}, {"product"})
      .node("Add", {"product", "bias"}, {"sum"})
      .node("Transpose", {"sum"}, {"t"}, {attribute("perm", Dims{0, 2, 1})})
      .node("Mul", {"scale", "t"}, {"y"})
      .node("Mul", {"sum", "cosine"}, {"z"})
      .output("y")
      .output("z");
  const std::vector<Parameter> found = model_of(model).parameters();
  ASSERT_EQ(names_of(found), (Names{"weight", "bias", "scale"}));
  EXPECT_EQ(found[2].kind, ParameterKind::Scale);
}

// A hard swish that was taken apart: its 3 and its sixth are no parameters of the convolution.
TEST(Parameters, numbers_without_dimensions_are_constants) {
  ModelBuilder model(17);
  model.input("x", {1, 3, 4, 4})
      .initializer(float_tensor("filter", {5, 3, 1, 1}))
      .initializer(number("three"))
      .initializer(number("sixth"))
      .node("Conv", {"x", "filter"}, {"c"})
      .node("Add", {"c", "three"}, {"sum"})
      .node("Mul", {"c", "sixth"}, {"part"})
      .node("Mul", {"sum", "part"}, {"y"})
      .output("y");
  EXPECT_EQ(names_of(model_of(model).parameters()), (Names{"filter"}));
}

} // namespace
} // namespace tilefuse::onnx_import
