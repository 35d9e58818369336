// SPDX-License-Identifier: Apache-2.0
// Parameters that an exporter merged because they held the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "onnx/export.h"
#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

onnx::TensorProto all_alike(const std::string &name, float value) {
  onnx::TensorProto tensor = float_tensor(name, {2});
  for (float &element : *tensor.mutable_float_data())
    element = value;
  return tensor;
}

// Two convolutions and their normalisations, as PyTorch writes them when nothing is trained yet: one vector of ones and
// one of zeros; an Identity for each other name.
ModelBuilder fresh(const std::string &second_filter) {
  ModelBuilder model(17);
  model.input("x", {2, 2, 3, 3})
      .initializer(float_tensor("a.weight", {2, 2, 1, 1}))
      .initializer(float_tensor("b.weight", {2, 2, 1, 1}))
      .initializer(all_alike("ones", 1))
      .initializer(all_alike("zeros", 0));
  for (const char *name : {"a.mean", "b.mean", "b.bias"})
    model.node("Identity", {"zeros"}, {name});
  model.node("Conv", {"x", "a.weight"}, {"c1"})
      .node("BatchNormalization", {"c1", "ones", "zeros", "a.mean", "ones"}, {"n1"})
      .node("Conv", {"n1", second_filter}, {"c2"})
      .node("BatchNormalization", {"c2", "ones", "b.bias", "b.mean", "ones"}, {"n2"})
      .output("n2");
  return model;
}

std::vector<std::string> names_of(const ModelBuilder &model) {
  const std::string bytes = model.proto.SerializeAsString();
  std::vector<std::string> names;
  for (const Parameter &parameter : Model(bytes, ".").parameters())
    names.push_back(parameter.name);
  return names;
}

TEST(MergedParameters, each_normalisation_has_its_own) {
  EXPECT_EQ(names_of(fresh("b.weight")),
            (std::vector<std::string>{"a.weight", "ones", "zeros", "a.mean", "n1/variance",
                                      "b.weight", "n2/scale", "b.bias", "b.mean", "n2/variance"}));
}

TEST(MergedParameters, a_layer_applied_twice_shares_what_it_learns) {
  EXPECT_EQ(names_of(fresh("a.weight")),
            (std::vector<std::string>{"a.weight", "ones", "zeros", "a.mean", "n1/variance"}));
}

TEST(MergedParameters, tensors_of_different_numbers_are_tied_on_purpose) {
  ModelBuilder model = fresh("b.weight");
  for (onnx::TensorProto &tensor : *model.proto.mutable_graph()->mutable_initializer())
    if (tensor.name() == "ones")
      tensor.set_float_data(1, 2);
  const std::vector<std::string> names = names_of(model);
  EXPECT_EQ(std::count(names.begin(), names.end(), "ones"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "n2/scale"), 0);
}

TEST(MergedParameters, broken_nodes_are_left_to_the_import) {
  ModelBuilder model = fresh("b.weight");
  model.node("Identity", {"x"}, {})
      .node("Identity", {}, {"u"})
      .node("Identity", {"v"}, {"v"})
      .node("BatchNormalization", {"n2", "u", "v", "zeros", "ones"}, {"n3"})
      .node("BatchNormalization", {"n2", "ones", "zeros", "zeros", "ones"}, {});
  const std::vector<std::string> names = names_of(model);
  EXPECT_EQ(std::count(names.begin(), names.end(), "n3/variance"), 1);
  EXPECT_EQ(names.size(), 12U);
}

TEST(MergedParameters, a_trained_model_is_written_with_them_apart) {
  Folder folder;
  const std::string from = folder.write("in.onnx", fresh("b.weight").proto.SerializeAsString());
  const std::string to = (folder.path() / "out.onnx").string();
  program::HostTensor bias = program::make_host_tensor("b.bias", DType::F32, {2}), scale = bias;
  program::set(bias, 1, 5);
  program::set(scale, 0, 7);
  export_model(from, to, {{"b.bias", bias}, {"n2/scale", scale}}, {});
  const Model written(to);
  EXPECT_EQ(program::get(written.parameter("b.bias"), 1), 5);
  EXPECT_EQ(program::get(written.parameter("n2/scale"), 0), 7);
  EXPECT_EQ(program::get(written.parameter("zeros"), 1), 0);
  EXPECT_EQ(program::get(written.parameter("ones"), 0), 1);
  EXPECT_EQ(written.parameters().size(), 10U);
}

} // namespace
} // namespace tilefuse::onnx_import
