// SPDX-License-Identifier: Apache-2.0
// f32 models written in 8-bit integers: which values are rounded, with which scales, and that results
// are those of f32 but for the rounding.
#include <gtest/gtest.h>

#include <cmath>

#include "base/index.h"
#include "nest/evaluate/reference.h"
#include "onnx/fold_norms.h"
#include "onnx/fold_weights.h"
#include "onnx/model_builder.h"
#include "onnx/quantize.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

using Names = std::vector<std::string>;
using Values = std::map<std::string, program::HostTensor>;

// x -> Conv -> Relu -> MaxPool -> Conv, and the pool's result added to it -> Conv -> y.
ModelBuilder network(std::int64_t opset = 13, const char *addition = "Add") {
  ModelBuilder model(opset);
  model.input("x", {1, 2, 6, 6})
      .initializer(float_tensor("w", {3, 2, 3, 3}))
      .initializer(float_tensor("b", {3}))
      .initializer(float_tensor("v", {3, 3, 1, 1}))
      .node("Conv", {"x", "w", "b"}, {"c"})
      .node("Relu", {"c"}, {"r"})
      .node("MaxPool", {"r"}, {"p"}, {attribute("kernel_shape", Dims{2, 2})})
      .node("Conv", {"p", "v"}, {"d"})
      .node(addition, {"d", "p"}, {"s"})
      .node("Relu", {"s"}, {"t"})
      .node("Conv", {"t", "v"}, {"y"})
      .output("y");
  return model;
}

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

ModelFile file_of(ModelBuilder model) {
  const std::int64_t opset = model.proto.opset_import(0).version();
  return {std::move(model.proto), {}, opset};
}

ModelFile quantized(ModelBuilder model, const std::map<std::string, program::Range> &ranges) {
  ModelFile file = file_of(std::move(model));
  quantize(file, plan_rounding(file.model, {}), ranges);
  return file;
}

program::HostTensor stored(const ModelFile &file, const std::string &name) {
  for (const onnx::TensorProto &tensor : file.model.graph().initializer())
    if (tensor.name() == name)
      return to_host_tensor(tensor, {});
  ADD_FAILURE() << "no initializer " << name;
  return program::make_host_tensor(name, DType::F32, {});
}

const onnx::NodeProto &maker_of(const ModelFile &file, const std::string &result) {
  for (const onnx::NodeProto &node : file.model.graph().node())
    if (node.output(0) == result)
      return node;
  throw std::runtime_error("nothing makes " + result);
}

TEST(Quantize, rounds_what_products_and_sums_read) {
  ModelBuilder model = network();
  const RoundingPlan plan = plan_rounding(model.proto, {});
  EXPECT_EQ(plan.products, (Names{"c", "d", "y"}));
  EXPECT_TRUE(plan.kept.empty());
  // The pool moves what the Relu gives; the last result stays in f32.
  EXPECT_EQ(sorted(plan.values), (Names{"d", "r", "t", "x"}));
  EXPECT_EQ(plan.scale_of.at("p"), plan.scale_of.at("r"));
  EXPECT_NE(plan.scale_of.at("d"), plan.scale_of.at("r"));
  EXPECT_EQ(plan.scale_of.count("c"), 0);
}

TEST(Quantize, rounds_what_a_sum_reads_as_what_an_addition_does) {
  const auto plan_of = [](const char *addition) {
    ModelBuilder model = network(13, addition);
    return plan_rounding(model.proto, {});
  };
  EXPECT_EQ(plan_of("Sum").values, plan_of("Add").values);
  EXPECT_EQ(plan_of("Sum").scale_of, plan_of("Add").scale_of);
}

TEST(Quantize, scales_data_by_its_range_and_weights_by_channel) {
  const ModelFile file =
      quantized(network(), {{"x", {-1, 3}}, {"r", {0, 2}}, {"d", {-8, 2}}, {"t", {0, 5}}});
  EXPECT_FLOAT_EQ(static_cast<float>(get(stored(file, "x/scale"), 0)), 4.0F / 255);
  EXPECT_EQ(get(stored(file, "x/zero"), 0), 64);
  EXPECT_EQ(get(stored(file, "p/zero"), 0), 0);
  const program::HostTensor scales = stored(file, "w/d0/scale"), whole = stored(file, "w/d0/i8");
  ASSERT_EQ(scales.shape, (Dims{3}));
  for (std::int64_t m = 0; m < 3; ++m) {
    EXPECT_FLOAT_EQ(static_cast<float>(get(scales, m)),
                    static_cast<float>(4.5 * static_cast<double>(m + 1) / 127));
    EXPECT_EQ(get(whole, m * 18 + 17), 127);
  }
  const double unit = get(scales, 1) * get(stored(file, "x/scale"), 0);
  EXPECT_EQ(get(stored(file, "c/b/i32"), 1), std::nearbyint(0.5 / unit));
  EXPECT_EQ(maker_of(file, "c").input(0), "x/d");
  EXPECT_EQ(maker_of(file, "s").input(1), "p/d");
}

TEST(Quantize, results_are_those_of_f32_but_for_the_rounding) {
  const ModelFile file =
      quantized(network(), {{"x", {-1, 1}}, {"r", {0, 80}}, {"d", {0, 300}}, {"t", {0, 380}}});
  program::HostTensor x = program::make_host_tensor("x", DType::F32, {1, 2, 6, 6});
  for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
    set(x, i, static_cast<double>((i * 37) % 201) / 100 - 1);
  const auto result = [&](const program::Program &program) {
    return nest::evaluate_program(program, {{"x", x}}).at(0);
  };
  const program::HostTensor exact = result(import(network()));
  const program::HostTensor rounded = result(import_bytes(file.model.SerializeAsString()));
  double most = 0, apart = 0;
  for (std::int64_t i = 0; i < program::elems(exact.shape); ++i) {
    most = std::max(most, std::fabs(get(exact, i)));
    apart = std::max(apart, std::fabs(get(exact, i) - get(rounded, i)));
  }
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart, 0.03 * most);
}

TEST(Quantize, what_is_asked_for_stays_in_f32) {
  ModelBuilder model = network();
  const RoundingPlan plan = plan_rounding(model.proto, {"c", "y"});
  EXPECT_EQ(plan.products, (Names{"d"}));
  EXPECT_EQ(plan.kept, (Names{"c: asked for", "y: asked for"}));
  EXPECT_EQ(plan.values, (Names{"r"}));
  const Error error = error_of([&] { plan_rounding(model.proto, {"z"}); });
  EXPECT_EQ(error.message(), "there is no product \"z\" to keep in f32");
}

TEST(Quantize, nodes_are_told_apart_by_what_they_make) {
  ModelBuilder model(13);
  model.input("x", {4, 4})
      .initializer(float_tensor("w", {4, 4}))
      .node("MatMul", {"x", "w"}, {"a"})
      .node("Relu", {"a"}, {"r"})
      .node("MatMul", {"r", "w"}, {"y"})
      .output("y");
  for (onnx::NodeProto &node : *model.proto.mutable_graph()->mutable_node())
    node.set_name("A");
  const ModelFile file = quantized(model, {{"x", {-1, 1}}, {"r", {0, 9}}});
  EXPECT_EQ(maker_of(file, "a").input(0), "x/d");
  EXPECT_EQ(maker_of(file, "r").input(0), "a");
  EXPECT_EQ(maker_of(file, "y").input(0), "r/d");
  EXPECT_EQ(plan_rounding(model.proto, {"y"}).products, (Names{"a"}));
  EXPECT_EQ(error_of([&] { plan_rounding(model.proto, {"A"}); }).message(),
            "the model has no product to compute in 8-bit integers");
}

TEST(Quantize, names_of_the_file_stay_its_own) {
  ModelBuilder model = network();
  model.initializer(float_tensor("x/scale", {1}))
      .initializer(float_tensor("c/b", {1}))
      .node("Mul", {"x", "x/scale"}, {"w/d0/i8"})
      .node("Mul", {"w/d0/i8", "c/b"}, {"other"})
      .output("other");
  const ModelFile file =
      quantized(model, {{"x", {-1, 3}}, {"r", {0, 2}}, {"d", {-8, 2}}, {"t", {0, 5}}});
  EXPECT_EQ(maker_of(file, "x/q").input(1), "x/scale_1");
  EXPECT_EQ(maker_of(file, "c").input(2), "c/b_1");
  EXPECT_EQ(import_bytes(file.model.SerializeAsString()).outputs.size(), 2);
}

// y = Conv(x, w, b) with two channels of results, whose weights and biases are given.
ModelFile with_bias(const std::vector<float> &weights, const std::vector<float> &bias) {
  const auto tensor = [](const std::string &name, const Dims &dims,
                         const std::vector<float> &values) {
    onnx::TensorProto result = float_tensor(name, dims);
    result.mutable_float_data()->Assign(values.begin(), values.end());
    return result;
  };
  ModelBuilder model(13);
  model.input("x", {1, 1, 2, 2})
      .initializer(tensor("w", {2, 1, 1, 1}, weights))
      .initializer(tensor("b", {2}, bias))
      .node("Conv", {"x", "w", "b"}, {"y"})
      .output("y");
  return quantized(model, {{"x", {0, 255}}});
}

// y of the channels where x is 1.
std::vector<double> results(const ModelFile &file) {
  program::HostTensor x = program::make_host_tensor("x", DType::F32, {1, 1, 2, 2});
  for (std::int64_t i = 0; i < 4; ++i)
    set(x, i, 1);
  const program::HostTensor y =
      nest::evaluate_program(import_bytes(file.model.SerializeAsString()), {{"x", x}}).at(0);
  return {get(y, 0), get(y, 4)};
}

TEST(Quantize, a_bias_that_32_bits_do_not_hold_stays_as_it_is) {
  const ModelFile file = with_bias({1, 1e-9F}, {0.5F, 0.5F});
  EXPECT_EQ(maker_of(file, "y").input(2), "b");
  EXPECT_NEAR(results(file)[0], 1.5, 1e-6);
  EXPECT_NEAR(results(file)[1], 0.5, 1e-6);
}

TEST(Quantize, a_bias_of_weights_that_are_zeros_is_kept) {
  // Of one channel: in units of the other's.
  EXPECT_NEAR(results(with_bias({127, 0}, {3, 5}))[1], 5, 1e-6);
  EXPECT_NEAR(results(with_bias({1e-44F, 1}, {0.25F, 0.5F}))[0], 0.25, 0.01);
  const ModelFile nothing = with_bias({0, 0}, {0.25F, -0.25F});
  EXPECT_EQ(results(nothing), (std::vector<double>{0.25, -0.25}));
}

TEST(Quantize, an_opset_without_its_operators_is_refused_when_written) {
  const Folder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  const auto refusal = [&](std::int64_t opset, const std::vector<onnx::AttributeProto> &axis) {
    ModelBuilder model(opset);
    model.input("x", {2}).initializer(float_tensor("s", {2}));
    model.node("QuantizeLinear", {"x", "s"}, {"y"}, axis).output("y");
    return error_of([&] { Model(model.proto.SerializeAsString(), "").write(path); }).message();
  };
  EXPECT_EQ(refusal(9, {}), "a model of opset 9 cannot hold its quantised operators, need 10");
  EXPECT_EQ(refusal(12, {attribute("axis", std::int64_t{0})}),
            "a model of opset 12 cannot hold its quantised operators, need 13");
  EXPECT_FALSE(std::filesystem::exists(path));
  // onnxruntime's own are of no opset.
  const ModelFile file =
      quantized(network(9), {{"x", {-1, 3}}, {"r", {0, 2}}, {"d", {-8, 2}}, {"t", {0, 5}}});
  Model(file.model.SerializeAsString(), "").write(path);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Quantize, refuses_what_is_quantised_or_has_no_products) {
  ModelFile file =
      quantized(network(), {{"x", {-1, 3}}, {"r", {0, 2}}, {"d", {-8, 2}}, {"t", {0, 5}}});
  EXPECT_EQ(error_of([&] { plan_rounding(file.model, {}); }).message(),
            "the model is quantised already");
  ModelBuilder plain(13);
  plain.input("x", {2}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of([&] { plan_rounding(plain.proto, {}); }).message(),
            "the model has no product to compute in 8-bit integers");
}

TEST(Quantize, operators_of_onnxruntime_before_opset_13) {
  const ModelFile file =
      quantized(network(11), {{"x", {-1, 3}}, {"r", {0, 2}}, {"d", {-8, 2}}, {"t", {0, 5}}});
  EXPECT_EQ(maker_of(file, "x/q").domain(), "com.microsoft");
  EXPECT_EQ(import_bytes(file.model.SerializeAsString()).outputs.size(), 1);
}

TEST(Quantize, normalisations_become_part_of_their_products) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 4, 4})
      .initializer(float_tensor("w", {3, 2, 1, 1}))
      .initializer(float_tensor("scale", {3}))
      .initializer(float_tensor("offset", {3}))
      .initializer(float_tensor("mean", {3}))
      .initializer(float_tensor("variance", {3}))
      .node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "scale", "offset", "mean", "variance"}, {"y"})
      .output("y");
  ModelFile file = file_of(model);
  fold_norms(file);
  ASSERT_EQ(file.model.graph().node_size(), 1);
  program::HostTensor x = program::make_host_tensor("x", DType::F32, {1, 2, 4, 4});
  for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
    set(x, i, static_cast<double>(i) - 16);
  const auto result = [&](const program::Program &program) {
    return nest::evaluate_program(program, {{"x", x}}).at(0);
  };
  const program::HostTensor before = result(import(model));
  const program::HostTensor after = result(import_bytes(file.model.SerializeAsString()));
  for (std::int64_t i = 0; i < program::elems(before.shape); ++i)
    EXPECT_NEAR(get(before, i), get(after, i), 1e-5);
}

// y = BatchNormalization(Gemm(x, w, b)) with 600 columns and what is said of it.
ModelBuilder normalised_gemm(const onnx::TensorProto &bias,
                             const std::vector<onnx::AttributeProto> &attributes) {
  ModelBuilder model(14);
  model.input("x", {2, 4}).initializer(float_tensor("w", {4, 600})).initializer(bias);
  for (const char *name : {"scale", "offset", "mean", "variance"})
    model.initializer(float_tensor(name, {600}));
  model.node("Gemm", {"x", "w", bias.name()}, {"c"})
      .node("BatchNormalization", {"c", "scale", "offset", "mean", "variance"}, {"y"}, attributes)
      .output("y");
  return model;
}

TEST(Quantize, normalisations_take_in_a_bias_of_one_number) {
  const ModelBuilder model = normalised_gemm(float_tensor("b", {1}), {});
  ModelFile file = file_of(model);
  fold_norms(file);
  ASSERT_EQ(file.model.graph().node_size(), 1);
  program::HostTensor x = program::make_host_tensor("x", DType::F32, {2, 4});
  for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
    set(x, i, static_cast<double>(i) - 3);
  const auto result = [&](const program::Program &program) {
    return nest::evaluate_program(program, {{"x", x}}).at(0);
  };
  const program::HostTensor before = result(import(model));
  const program::HostTensor after = result(import_bytes(file.model.SerializeAsString()));
  for (std::int64_t i = 0; i < program::elems(before.shape); ++i)
    EXPECT_NEAR(get(before, i), get(after, i), 1e-6 * std::max(1.0, std::fabs(get(before, i))));
}

TEST(Quantize, normalisations_by_the_batch_and_with_other_lengths_stay) {
  ModelFile training = file_of(
      normalised_gemm(float_tensor("b", {600}), {attribute("training_mode", std::int64_t{1})}));
  fold_norms(training);
  EXPECT_EQ(training.model.graph().node_size(), 2);
  ModelFile longer = file_of(normalised_gemm(float_tensor("b", {601}), {}));
  fold_norms(longer);
  EXPECT_EQ(longer.model.graph().node_size(), 2);
}

// The sum that a normalisation has read is an output too.
TEST(Quantize, normalisations_of_what_others_read_stay) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 4, 4})
      .initializer(float_tensor("w", {3, 2, 1, 1}))
      .initializer(float_tensor("k", {3}))
      .node("Conv", {"x", "w"}, {"c"})
      .node("BatchNormalization", {"c", "k", "k", "k", "k"}, {"y"})
      .output("y")
      .output("c");
  ModelFile file = file_of(model);
  fold_norms(file);
  EXPECT_EQ(file.model.graph().node_size(), 2);
}

// A standardised filter, of which another branch reads a part.
TEST(Quantize, computed_weights_are_stored) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 4, 4})
      .initializer(float_tensor("v", {3, 2, 1, 1}))
      .initializer(float_tensor("gain", {3, 1, 1, 1}))
      .node("ReduceMean", {"v"}, {"mean"}, {attribute("axes", Dims{1, 2, 3})})
      .node("Sub", {"v", "mean"}, {"centred"})
      .node("Mul", {"centred", "gain"}, {"w"})
      .node("Conv", {"x", "w"}, {"c"})
      .node("Add", {"c", "mean"}, {"y"})
      .output("y");
  ModelFile file = file_of(model);
  EXPECT_EQ(error_of([&] { plan_rounding(file.model, {}); }).message(),
            "the model has no product to compute in 8-bit integers");
  fold_weights(file, operators_library());
  ASSERT_EQ(file.model.graph().node_size(), 3); // the mean, Conv and Add
  EXPECT_EQ(file.model.graph().node(0).op_type(), "ReduceMean");
  EXPECT_EQ(stored(file, "w/stored").shape, (program::Shape{3, 2, 1, 1}));
  EXPECT_EQ(plan_rounding(file.model, {}).products, Names{"c"});
  program::HostTensor x = program::make_host_tensor("x", DType::F32, {1, 2, 4, 4});
  for (std::int64_t i = 0; i < program::elems(x.shape); ++i)
    set(x, i, static_cast<double>(i) - 16);
  const auto result = [&](const program::Program &program) {
    return nest::evaluate_program(program, {{"x", x}}).at(0);
  };
  EXPECT_EQ(result(import(model)).data, result(import_bytes(file.model.SerializeAsString())).data);
}

// A node that makes a bias and what another one reads stays.
TEST(Quantize, computed_biases_of_nodes_with_more_results_are_stored) {
  ModelBuilder model(13);
  model.input("x", {1, 2, 4, 4})
      .initializer(float_tensor("w", {3, 2, 1, 1}))
      .initializer(float_tensor("v", {6}))
      .node("Split", {"v"}, {"b", "other"})
      .node("Conv", {"x", "w", "b"}, {"c"})
      .node("ReduceMean", {"other"}, {"mean"})
      .node("Add", {"c", "mean"}, {"y"})
      .output("y");
  ModelFile file = file_of(model);
  fold_weights(file, operators_library());
  EXPECT_EQ(file.model.graph().node_size(), 4);
  EXPECT_EQ(import_bytes(file.model.SerializeAsString()).outputs.size(), 1);
}

TEST(Quantize, computed_weights_that_are_quantised_or_of_data_stay) {
  ModelBuilder model(13);
  model.input("x", {1, 3, 4, 4})
      .initializer(float_tensor("v", {3, 3, 1, 1}))
      .initializer(float_tensor("scale", {}))
      .node("QuantizeLinear", {"v", "scale"}, {"q"})
      .node("DequantizeLinear", {"q", "scale"}, {"w"})
      .node("Conv", {"x", "w"}, {"c"})
      .node("MatMul", {"c", "x"}, {"y"})
      .output("y");
  ModelFile file = file_of(model);
  const std::string before = file.model.SerializeAsString();
  fold_weights(file, operators_library());
  EXPECT_EQ(file.model.SerializeAsString(), before);
}

} // namespace
} // namespace tilefuse::onnx_import
