// SPDX-License-Identifier: Apache-2.0
// Classifiers with another number of classes, and those that cannot have one.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "onnx/head.h"
#include "onnx/initial.h"
#include "onnx/model_builder.h"
#include "onnx/tensor.h"
#include "paths.h"

namespace tilefuse::onnx_import {
namespace {

namespace fs = std::filesystem;

// Deviation and largest magnitude of a tensor's elements.
std::pair<double, double> spread(const program::HostTensor &tensor) {
  double squares = 0, most = 0;
  const std::int64_t count = program::elems(tensor.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    squares += program::get(tensor, i) * program::get(tensor, i);
    most = std::max(most, std::abs(program::get(tensor, i)));
  }
  return {std::sqrt(squares / static_cast<double>(count)), most};
}

TEST(Initial, numbers_are_spread_as_said) {
  const auto [uniform, most_uniform] = spread(draw_uniform("w", {100000}, 0.5, 1));
  EXPECT_NEAR(uniform, 0.5 / std::sqrt(3.0), 0.002);
  EXPECT_LE(most_uniform, 0.5);
  const auto [normal, most_normal] = spread(draw_normal("w", {100000}, 0.5, 1));
  EXPECT_NEAR(normal, 0.5, 0.005);
  EXPECT_GT(most_normal, 1.8);
  EXPECT_LE(most_normal, 3);
}

// Kept runs depend on these.
TEST(Initial, numbers_are_the_same_everywhere) {
  const program::HostTensor uniform = draw_uniform("fc.weight", {2}, 1, 1);
  const program::HostTensor normal = draw_normal("fc.weight", {2}, 1, 1);
  EXPECT_EQ(std::llround(program::get(uniform, 0) * 0x1p24), -15566135);
  EXPECT_EQ(std::llround(program::get(normal, 1) * 0x1p16), -72419);
  EXPECT_NE(draw_uniform("fc.bias", {2}, 1, 1).data, uniform.data);
  EXPECT_NE(draw_uniform("fc.weight", {2}, 1, 2).data, uniform.data);
  EXPECT_EQ(draw_uniform("fc.weight", {2}, 1, 1).data, uniform.data);
}

class HeadTest : public testing::Test {
protected:
  Head replace(const ModelBuilder &model, std::int64_t classes = 5) {
    return replace_head(folder_.write("model.onnx", model.proto.SerializeAsString()), classes, 1);
  }
  std::string refusal(const ModelBuilder &model) {
    const std::string text = error_of([&] { replace(model); }).message();
    const std::string begin = "the head cannot be replaced: ";
    EXPECT_TRUE(text.starts_with(begin)) << text;
    return text.substr(std::min(text.size(), begin.size()));
  }
  Folder folder_;
};

// x [2, 3] times w [3, 4].
ModelBuilder linear(const std::string &output = "y") {
  ModelBuilder model(13);
  model.input("x", {2, 3})
      .initializer(float_tensor("w", {3, 4}))
      .node("MatMul", {"x", "w"}, {output});
  return model;
}

onnx::TensorProto initializer(const Head &head, const std::string &name) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(head.model));
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (tensor.name() == name)
      return tensor;
  ADD_FAILURE() << "no initializer " << name;
  return {};
}

TEST_F(HeadTest, matmul_with_a_bias_and_softmax) {
  ModelBuilder model = linear("m");
  model.initializer(float_tensor("b", {4}))
      .node("Add", {"b", "m"}, {"a"})
      .node("Softmax", {"a"}, {"y"})
      .output("y");
  const Head head = replace(model);
  EXPECT_EQ(head.classes_before, 4);
  EXPECT_EQ(head.renewed, (std::vector<std::string>{"w", "b"}));
  EXPECT_EQ(output_shape(import_bytes(head.model)), (Dims{2, 5}));
  const program::HostTensor weights = to_host_tensor(initializer(head, "w"), {});
  EXPECT_EQ(weights.shape, (Dims{3, 5}));
  EXPECT_EQ(weights.data, draw_uniform("w", {3, 5}, 1 / std::sqrt(3.0), 1).data);
}

TEST_F(HeadTest, gemm_either_way_up) {
  for (const std::int64_t transposed : {0, 1}) {
    ModelBuilder model(13);
    model.input("x", {2, 3}).initializer(float_tensor("w", transposed ? Dims{4, 3} : Dims{3, 4}));
    model.initializer(float_tensor("b", {1, 4}));
    model.node("Gemm", {"x", "w", "b"}, {"y"}, {attribute("transB", transposed)}).output("y");
    EXPECT_EQ(output_shape(import_bytes(replace(model).model)), (Dims{2, 5}));
  }
}

TEST_F(HeadTest, conv_in_f16_with_pooling_behind) {
  ModelBuilder model(13);
  model.input("x", {2, 3, 4, 4}, onnx::TensorProto::FLOAT16);
  for (const auto &[name, dims] :
       std::vector<std::pair<std::string, Dims>>{{"w", {4, 3, 1, 1}}, {"b", {4}}}) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT16);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    tensor.set_raw_data(std::string(static_cast<std::size_t>(2 * program::elems(dims)), '\0'));
    model.initializer(tensor);
  }
  model.node("Conv", {"x", "w", "b"}, {"c"}).node("GlobalAveragePool", {"c"}, {"p"});
  model.initializer(int64_tensor("to", {2}, {0, -1}))
      .node("Reshape", {"p", "to"}, {"y"})
      .output("y");
  const Head head = replace(model);
  EXPECT_EQ(output_shape(import_bytes(head.model)), (Dims{2, 5}));
  EXPECT_EQ(initializer(head, "w").data_type(), onnx::TensorProto::FLOAT16);
}

TEST_F(HeadTest, declared_shapes_follow) {
  ModelBuilder model = linear();
  model.input("w", {3, 4}); // old models declare initializers as inputs
  model.output("y");
  auto *output =
      model.proto.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  output->set_elem_type(onnx::TensorProto::FLOAT);
  output->mutable_shape()->add_dim()->set_dim_value(2);
  output->mutable_shape()->add_dim()->set_dim_value(4);
  onnx::ModelProto changed;
  ASSERT_TRUE(changed.ParseFromString(replace(model).model));
  EXPECT_EQ(changed.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 5);
  EXPECT_EQ(changed.graph().input(1).type().tensor_type().shape().dim(1).dim_value(), 5);
  output->mutable_shape()->mutable_dim(1)->set_dim_value(7);
  EXPECT_EQ(refusal(model), "MatMul \"y\" has 4 classes, but the output 7");
}

TEST_F(HeadTest, refusals) {
  ModelBuilder two = linear();
  EXPECT_EQ(refusal(two.output("y").output("w")), "the model has 2 outputs, need one");

  ModelBuilder twice = linear("m");
  twice.node("Add", {"m", "m"}, {"y"}).output("y");
  EXPECT_EQ(refusal(twice), "the result of MatMul \"m\" is used 2 times");

  ModelBuilder concat = linear("m");
  concat.node("Concat", {"m", "x"}, {"y"}, {attribute("axis", std::int64_t{1})}).output("y");
  EXPECT_EQ(refusal(concat), "Concat \"y\" lies between the last layer and the output, and may "
                             "depend on the number of classes");

  ModelBuilder shaped = linear("m");
  shaped.initializer(int64_tensor("to", {2}, {4, 2}))
      .node("Reshape", {"m", "to"}, {"y"})
      .output("y");
  EXPECT_EQ(refusal(shaped), "Reshape \"y\" lies between the last layer and the output, and may "
                             "depend on the number of classes");

  ModelBuilder none(13);
  EXPECT_EQ(refusal(none.input("x", {1}).node("Relu", {"x"}, {"y"}).output("y")),
            "no Gemm, MatMul or Conv lies before the output");

  ModelBuilder computed(13);
  computed.input("x", {2, 3}).initializer(float_tensor("v", {3, 4})).node("Relu", {"v"}, {"w"});
  EXPECT_EQ(refusal(computed.node("MatMul", {"x", "w"}, {"y"}).output("y")),
            "\"w\" of MatMul \"y\" is not stored in the model but computed");

  ModelBuilder tied(13);
  tied.input("x", {2, 3}).initializer(float_tensor("w", {3, 3})).node("MatMul", {"x", "w"}, {"m"});
  EXPECT_EQ(refusal(tied.node("MatMul", {"m", "w"}, {"y"}).output("y")),
            "\"w\" of MatMul \"y\" is used 2 times");

  ModelBuilder whole(13);
  whole.input("x", {2, 3})
      .initializer(int64_tensor("w", {3, 1}, {1, 2, 3}))
      .node("MatMul", {"x", "w"}, {"y"})
      .output("y");
  EXPECT_EQ(refusal(whole), "\"w\" of MatMul \"y\" is of INT64, need floating point");

  ModelBuilder groups(13);
  groups.input("x", {1, 4, 2, 2}).initializer(float_tensor("w", {4, 2, 1, 1}));
  groups.node("Conv", {"x", "w"}, {"y"}, {attribute("group", std::int64_t{2})}).output("y");
  EXPECT_EQ(refusal(groups), "Conv \"y\" has groups");

  ModelBuilder bias = linear("m");
  bias.initializer(float_tensor("b", {2, 1})).node("Add", {"m", "b"}, {"y"}).output("y");
  EXPECT_EQ(refusal(bias), "\"b\" of Add \"y\" is not one number for each of the 4 classes");
}

// ---- Models of the shared folder

struct Shared {
  std::string path;
  Dims output;         // with 5 classes; empty: refused
  std::string refusal; // what it says then
  std::vector<std::string> renewed;
};

void PrintTo(const Shared &shared, std::ostream *out) { *out << shared.path; }

class SharedHead : public testing::TestWithParam<Shared> {};

TEST_P(SharedHead, gets_five_classes_or_says_why_not) {
  const fs::path path = fs::path(TILEFUSE_SOURCE_DIR "/../shared/data") / GetParam().path;
  if (!fs::exists(path)) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << path << " is missing";
    GTEST_SKIP() << "skipped: " << path << " is missing";
  }
  if (GetParam().output.empty()) {
    const std::string text = error_of([&] { replace_head(path.string(), 5, 1); }).message();
    EXPECT_NE(text.find(GetParam().refusal), std::string::npos) << text;
    return;
  }
  const Head head = replace_head(path.string(), 5, 1);
  EXPECT_EQ(head.renewed, GetParam().renewed);
  EXPECT_EQ(output_shape(import_bytes(head.model)), GetParam().output);
  const std::set<std::string> renewed(head.renewed.begin(), head.renewed.end());
  onnx::ModelProto was, is;
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(was.ParseFromIstream(&in) && is.ParseFromString(head.model));
  ASSERT_EQ(was.graph().initializer_size(), is.graph().initializer_size());
  for (int i = 0; i < was.graph().initializer_size(); ++i)
    EXPECT_EQ(was.graph().initializer(i).SerializeAsString() !=
                  is.graph().initializer(i).SerializeAsString(),
              renewed.contains(was.graph().initializer(i).name()));
}

INSTANTIATE_TEST_SUITE_P(
    Models, SharedHead,
    testing::Values(
        Shared{"models/cifar_resnet20/model.onnx", {1, 5}, "", {"linear.weight", "linear.bias"}},
        Shared{"models/cifar_cnn_pytorch/model.onnx", {1, 5}, "", {"fc1.weight", "fc1.bias"}},
        Shared{"models/mnist_pytorch_bn/model.onnx",
               {1, 5},
               "",
               {"fc2.weight", "fc2.bias", "norm2.weight", "norm2.bias", "norm2.running_mean",
                "norm2.running_var"}},
        Shared{"models/micro_kws_fp32/model.onnx",
               {1, 5},
               "",
               {"const_fold_opt__63", "micro_kws/dense_2/BiasAdd/ReadVariableOp"}},
        Shared{
            "models/squeezenet11_fp16/model.onnx", {1, 5, 1, 1}, "", {"conv10_w_0", "conv10_b_0"}},
        Shared{"models/mnist_8/model.onnx", {}, "is not stored in the model but computed", {}},
        Shared{"models/cifar_resnet20_qdq_int8/model.onnx", {}, "\"fc.w_dq\" of Gemm \"", {}},
        Shared{"models/deeplabv3_mnv2/model.onnx",
               {},
               "Transpose \"ResizeBilinear_3\" lies between",
               {}},
        Shared{"models/ultraface_rfb320/model.onnx", {}, "the model has 2 outputs, need one", {}},
        Shared{"models_light/light_resnet50.onnx",
               {},
               "is not stored in the model but computed",
               {}}));

} // namespace
} // namespace tilefuse::onnx_import
