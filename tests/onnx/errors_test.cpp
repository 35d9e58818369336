// SPDX-License-Identifier: Apache-2.0
// What a user may get wrong: every mistake is one tilefuse::Error.
#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "onnx/model_builder.h"
#include "support/sampling.h"

namespace tilefuse::onnx_import {
namespace {

ModelBuilder small_model() {
  ModelBuilder model(13);
  model.input("x", {1, 2, 6, 6})
      .initializer(float_tensor("w", {3, 2, 3, 3}))
      .initializer(float_tensor("b", {3}));
  model.initializer(int64_tensor("to", {2}, {1, -1})).initializer(int64_tensor("starts", {1}, {2}));
  model.initializer(int64_tensor("ends", {1}, {40}));
  model.node("Conv", {"x", "w", "b"}, {"c"},
             {attribute("pads", Dims{1, 1, 1, 1}), attribute("strides", Dims{2, 2})});
  model.node("Relu", {"c"}, {"r"})
      .node("MaxPool", {"r"}, {"p"}, {attribute("kernel_shape", Dims{2, 2})});
  model.node("Concat", {"p", "p"}, {"q"}, {attribute("axis", std::int64_t{1})});
  model.node("Reshape", {"q", "to"}, {"f"}).node("Slice", {"f", "starts", "ends", "one"}, {"s"});
  model.initializer(int64_tensor("one", {1}, {1}));
  model.node("Softmax", {"s"}, {"y"}).output("y");
  return model;
}

TEST(SmallModel, imports) { EXPECT_EQ(output_shape(import(small_model())), (Dims{1, 22})); }

// Imports or throws Error; anything else fails or ends the test program.
bool imports(const Folder &folder, const std::string &bytes) {
  try {
    import_model(folder.write("model.onnx", bytes), operators_library(), {});
    return true;
  } catch (const Error &error) {
    EXPECT_FALSE(error.message().empty());
    return false;
  }
}

TEST(Malformed, models_cut_anywhere_are_errors) {
  const Folder folder;
  const std::string bytes = small_model().proto.SerializeAsString();
  std::size_t accepted = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    accepted += imports(folder, bytes.substr(0, size)) ? 1 : 0;
  EXPECT_LT(accepted, bytes.size() / 100);
  EXPECT_TRUE(imports(folder, bytes));
}

TEST(Malformed, flipped_bytes_never_crash) {
  const Folder folder;
  const std::string bytes = small_model().proto.SerializeAsString();
  std::mt19937 random(1);
  std::size_t refused = 0;
  const std::size_t rounds = testing::by_night(4000, 500);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::string damaged = bytes;
    for (auto flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    refused += imports(folder, damaged) ? 0 : 1;
  }
  EXPECT_GT(4 * refused, rounds);
}

TEST(Malformed, other_files_are_not_models) {
  for (const std::string &bytes : {std::string(), std::string("hello"),
                                   std::string("\x89PNG\r\n\x1a\n"), std::string(1000, '\0')})
    EXPECT_EQ(error_of([&] { import_bytes(bytes); }).code(), ErrorCode::Io);
}

TEST(Malformed, missing_files_and_folders) {
  const Folder folder;
  for (const std::string &path :
       {folder.path().string() + "/none.onnx", folder.path().string(), std::string()})
    EXPECT_EQ(error_of([&] { import_model(path, operators_library(), {}); }).code(), ErrorCode::Io);
}

TEST(Unsupported, all_are_listed_with_their_nodes) {
  ModelBuilder model(13);
  model.input("x", {2})
      .node("Relu", {"x"}, {"a"})
      .node("Loop", {"a"}, {"b"})
      .node("Loop", {"b"}, {"c"});
  model.node("Relu", {"c"}, {"d"})
      .node("Foo", {"d"}, {"e"})
      .node("LeakyRelu", {"e"}, {"f"}, {attribute("odd", 1.0)});
  model.node("AveragePool", {"f"}, {"g", "indices"})
      .node("Add", {"g", "indices"}, {"y"})
      .output("y");
  model.proto.mutable_graph()->mutable_node(1)->set_name("first \"one\"");
  model.proto.mutable_graph()->mutable_node(4)->set_domain("com.example");
  const Error error = error_of([&] { import(model); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  const std::string text = error.what();
  for (const char *part :
       {"\"Loop\" of opset 13: 2 (\"first \\\"one\\\"\", \"c\")",
        "\"Foo\" of domain \"com.example\": 1 (\"e\")",
        "LeakyRelu with attribute \"odd\": 1 (\"f\")", "result 1 of AveragePool: 1 (\"g\")"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

TEST(Unsupported, functions_graphs_and_types_are_named) {
  ModelBuilder model(13);
  model.input("x", {2}, onnx::TensorProto::STRING)
      .node("Mine", {"x"}, {"a"})
      .node("Relu", {"a"}, {"y"})
      .output("y");
  auto *function = model.proto.add_functions();
  function->set_name("Mine");
  function->add_opset_import()->set_version(9); // not the model's
  auto *body = model.proto.mutable_graph()->mutable_node(1)->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  body->mutable_g();
  const std::string text = error_of([&] { import(model); }).what();
  for (const char *part : {"model-local function \"Mine\"", "sub-graph", "STRING"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}

TEST(Unsupported, nodes_are_all_named_with_what_they_lack) {
  ModelBuilder model(13);
  model.input("x", {4})
      .input("to", {2}, onnx::TensorProto::INT64)
      .input("n", {1}, onnx::TensorProto::INT64)
      .node("Reshape", {"x", "to"}, {"a"})
      .node("Tile", {"x", "n"}, {"b"})
      .node("Foo", {"x"}, {"c"});
  model.node("Add", {"a", "b"}, {"d"}).node("Add", {"c", "d"}, {"y"}).output("y");
  const Error error = error_of([&] { import(model); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(),
            "the model has operators that are not supported: operator \"Foo\" of opset 13; "
            "Reshape a: its shape is computed at run time; need a constant; Tile "
            "b: its repeats is computed at run time; need a constant");
}

TEST(Unsupported, operators_before_or_after_their_opsets) {
  ModelBuilder model(10);
  model.input("x", {1, 1, 2, 2}).node("Upsample", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of([&] { import(model); }).code(), ErrorCode::Unsupported);
}

TEST(Overflow, of_sizes_is_a_limit_error) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  ModelBuilder input(13);
  EXPECT_EQ(error_of([&] {
              import(input.input("x", {kHuge, kHuge}).node("Relu", {"x"}, {"y"}).output("y"));
            }).code(),
            ErrorCode::Limit);
  onnx::TensorProto weight = float_tensor("w", {1});
  weight.clear_dims();
  weight.add_dims(kHuge);
  weight.add_dims(kHuge);
  ModelBuilder initializer(13);
  EXPECT_EQ(error_of([&] {
              import(initializer.initializer(weight).node("Relu", {"w"}, {"y"}).output("y"));
            }).code(),
            ErrorCode::Limit);
  for (const Dims &dims : {Dims{kHuge, kHuge}, Dims{1 << 30, 1 << 30, 1 << 30},
                           Dims{1 << 30, 1 << 30}, Dims{1 << 30, 2}}) {
    ModelBuilder made(13);
    made.initializer(int64_tensor("s", {static_cast<std::int64_t>(dims.size())}, dims));
    EXPECT_EQ(
        error_of([&] { import(made.node("ConstantOfShape", {"s"}, {"y"}).output("y")); }).code(),
        ErrorCode::Limit);
  }
}

// A new element of an axis that shrinks without aliases takes all the old ones that it replaces.
TEST(Overflow, of_what_a_resized_axis_sums_is_a_limit_error) {
  ModelBuilder model(19);
  model.input("x", {1, 1, std::int64_t{1} << 30, 4})
      .initializer(int64_tensor("to", {4}, {1, 1, 2, 4}))
      .node("Resize", {"x", "", "", "to"}, {"y"},
            {attribute("mode", "linear"), attribute("antialias", std::int64_t{1})})
      .output("y");
  EXPECT_EQ(error_of([&] { import(model); }).code(), ErrorCode::Limit);
}

TEST(Unsupported, ways_to_find_the_nearest_element_are_listed) {
  ModelBuilder model(19);
  model.input("x", {1, 1, 2, 4})
      .initializer(int64_tensor("to", {4}, {1, 1, 4, 8}))
      .node("Resize", {"x", "", "", "to"}, {"y"}, {attribute("nearest_mode", "upwards")})
      .output("y");
  const std::string message = error_of([&] { import(model); }).message();
  EXPECT_NE(message.find("round_prefer_floor"), std::string::npos) << message;
}

TEST(Overflow, is_named) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  ModelBuilder input(13);
  const Error of_input = error_of([&] {
    import(input.input("x", {kHuge, kHuge}).node("Relu", {"x"}, {"y"}).output("y"));
  });
  EXPECT_EQ(of_input.message(),
            "input \"x\": [1099511627776, 1099511627776] has more than 2^62 elements");
  ModelBuilder node(13);
  node.initializer(int64_tensor("s", {3}, {1 << 30, 1 << 30, 1 << 30}));
  const Error of_node =
      error_of([&] { import(node.node("ConstantOfShape", {"s"}, {"y"}).output("y")); });
  EXPECT_EQ(of_node.message(), "ConstantOfShape y: [1073741824, 1073741824, 1073741824] has more "
                               "than 2^62 elements");
}

// The limit holds for all nodes together.
TEST(Overflow, of_constants_made_up_is_a_limit_error) {
  ModelBuilder model(13);
  model.initializer(int64_tensor("s", {1}, {100}));
  model.node("ConstantOfShape", {"s"}, {"a"}).node("ConstantOfShape", {"s"}, {"b"});
  model.node("Add", {"a", "b"}, {"y"}).output("y");
  EXPECT_EQ(output_shape(import(model, {.made_bytes = 800})), (Dims{100}));
  const Error error = error_of([&] { import(model, {.made_bytes = 799}); });
  EXPECT_EQ(error.code(), ErrorCode::Limit);
  EXPECT_EQ(error.message(), "the model makes up constants of more than 799 bytes");
}

// Nodes whose attributes or shapes do not fit: op, shapes of the operands, attributes.
struct Misfit {
  std::string op;
  std::vector<Dims> inputs;
  std::vector<onnx::AttributeProto> attributes;
};

void PrintTo(const Misfit &misfit, std::ostream *out) { *out << misfit.op; }

class MisfitNode : public ::testing::TestWithParam<Misfit> {};

TEST_P(MisfitNode, is_an_error_that_names_it) {
  ModelBuilder model(12);
  std::vector<std::string> names;
  for (const Dims &dims : GetParam().inputs) {
    names.push_back(fmt::format("x{}", names.size()));
    model.input(names.back(), dims);
  }
  model.node(GetParam().op, names, {"y"}, GetParam().attributes).output("y");
  const Error error = error_of([&] { import(model); });
  EXPECT_NE(std::string(error.what()).find(GetParam().op + " y"), std::string::npos)
      << error.what();
}

INSTANTIATE_TEST_SUITE_P(
    Errors, MisfitNode,
    ::testing::Values(
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 2, 3, 3}}, {}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3}}, {}}, Misfit{"Conv", {{1, 3, 8, 8}}, {}},
        Misfit{"Conv", {{3, 8}, {4, 3}}, {}}, Misfit{"Conv", {{1, 3, 2, 2}, {4, 3, 3, 3}}, {}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("strides", Dims{0, 1})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("strides", Dims{1})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("pads", Dims{1, 1, 1, -1})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("pads", Dims{1, 1, 1, INT64_MAX})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("dilations", Dims{1, INT32_MAX})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("auto_pad", std::string("odd"))}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}}, {attribute("kernel_shape", Dims{5, 5})}},
        Misfit{"Conv", {{1, 4, 8, 8}, {4, 2, 3, 3}}, {attribute("group", std::int64_t{0})}},
        Misfit{"Conv", {{1, 3, 8, 8}, {4, 3, 3, 3}, {5}}, {}},
        Misfit{"MaxPool", {{1, 3, 8, 8}}, {}},
        Misfit{"MaxPool", {{1, 3, 8, 8}}, {attribute("kernel_shape", std::int64_t{2})}},
        Misfit{"Gemm", {{2, 3}, {4, 5}}, {}}, Misfit{"Gemm", {{2, 3}, {3, 4}, {3, 2, 4}}, {}},
        Misfit{"MatMul", {{2, 3}, {4, 5}}, {}}, Misfit{"MatMul", {{2, 2, 3}, {3, 3, 5}}, {}},
        Misfit{"Add", {{2, 3}, {2, 4}}, {}},
        Misfit{"Softmax", {{2, 3}}, {attribute("axis", std::int64_t{5})}},
        Misfit{"Concat", {{2, 3}, {3, 3}}, {attribute("axis", std::int64_t{1})}},
        Misfit{"Concat", {{2, 3}, {2, 3, 1}}, {attribute("axis", std::int64_t{1})}},
        Misfit{"Transpose", {{2, 3}}, {attribute("perm", Dims{0, 0})}},
        Misfit{"Transpose", {{2, 3}}, {attribute("perm", Dims{0})}},
        Misfit{"BatchNormalization", {{1, 3, 2, 2}, {3}, {3}, {4}, {3}}, {}},
        Misfit{"Split", {{2, 6}}, {attribute("split", Dims{1})}},
        Misfit{"Cast", {{2}}, {attribute("to", std::int64_t{8})}},
        Misfit{"Squeeze", {{2, 6}}, {attribute("axes", Dims{0})}},
        Misfit{"DepthToSpace", {{1, 3, 2, 2}}, {attribute("blocksize", std::int64_t{2})}},
        Misfit{"Einsum", {{2, 3}, {4, 5}}, {attribute("equation", std::string("ij,jk->ik"))}},
        Misfit{"Einsum", {{2, 3}}, {attribute("equation", std::string("ij->ii"))}},
        Misfit{"Einsum", {{2, 3}}, {attribute("equation", std::string("ij,jk->ik"))}},
        Misfit{"GatherElements", {{2, 3}, {2}}, {}}, Misfit{"GatherND", {{2, 3}, {2, 3}}, {}},
        Misfit{"ScatterElements", {{2, 3}, {2, 3}, {1, 3}}, {}},
        Misfit{"ScatterND", {{2, 3}, {1, 1}, {2, 3}}, {}},
        Misfit{"LSTM", {{2, 3}, {1, 4, 3}, {1, 4, 1}}, {}},
        Misfit{"LSTM", {{2, 1, 3}, {1, 4, 3}, {}}, {}},
        Misfit{"SoftmaxCrossEntropyLoss", {{3}, {3}}, {}},
        Misfit{
            "RoiAlign", {{1, 1, 4, 4}, {2, 4}, {}}, {attribute("sampling_ratio", std::int64_t{1})}},
        Misfit{"GRU", {{2, 1, 3}, {2, 3, 3}, {2, 3, 1}}, {}},
        Misfit{
            "RoiAlign", {{1, 1, 4, 4}, {4}, {1}}, {attribute("sampling_ratio", std::int64_t{1})}},
        Misfit{"RoiAlign", {{1, 1, 4, 4}, {1, 4}, {1}}, {}},
        Misfit{"MaxUnpool", {{1, 1, 2, 2}, {1, 1, 3, 2}}, {attribute("kernel_shape", Dims{2, 2})}},
        Misfit{"TopK", {{4}, {1}}, {}}, Misfit{"OneHot", {{4}, {}, {2}}, {}},
        Misfit{"LRN", {{1, 3, 2, 2}}, {}}, Misfit{"Relu", {}, {}}));

// What is true or false in ONNX is 0 or 1: another number is a mistake, and the node is named.
struct Flag {
  std::string op;
  std::string name;
  std::int64_t opset;
  std::vector<Dims> inputs;
  std::vector<onnx::AttributeProto> others;
};

void PrintTo(const Flag &flag, std::ostream *out) { *out << flag.op << ' ' << flag.name; }

class FlagAttribute : public ::testing::TestWithParam<Flag> {};

TEST_P(FlagAttribute, is_0_or_1) {
  const Flag &flag = GetParam();
  for (const std::int64_t value : {0, 1, 2, 3, -1}) {
    ModelBuilder model(flag.opset);
    std::vector<std::string> names;
    for (const Dims &dims : flag.inputs) {
      names.push_back(fmt::format("x{}", names.size()));
      model.input(names.back(), dims);
    }
    std::vector<onnx::AttributeProto> attributes = flag.others;
    attributes.push_back(attribute(flag.name, value));
    model.node(flag.op, names, {"y"}, attributes).output("y");
    if (value == 0 || value == 1) {
      EXPECT_NO_THROW(import(model)) << value;
      continue;
    }
    EXPECT_EQ(error_of([&] { import(model); }).message(),
              fmt::format("attribute {} is {}; need 0 or 1", flag.name, value));
  }
}

const onnx::AttributeProto kTwo = attribute("kernel_shape", Dims{2, 2});

INSTANTIATE_TEST_SUITE_P(
    Errors, FlagAttribute,
    ::testing::Values(Flag{"MaxPool", "ceil_mode", 12, {{1, 3, 7, 7}}, {kTwo}},
                      Flag{"AveragePool", "ceil_mode", 13, {{1, 3, 7, 7}}, {kTwo}},
                      Flag{"MaxPool",
                           "ceil_mode",
                           12,
                           {{1, 3, 7, 7}},
                           {kTwo, attribute("auto_pad", std::string("SAME_UPPER"))}},
                      Flag{"AveragePool", "count_include_pad", 12, {{1, 3, 7, 7}}, {kTwo}},
                      Flag{"Gemm", "transA", 12, {{3, 3}, {3, 4}}, {}},
                      Flag{"Gemm", "transB", 12, {{3, 4}, {4, 4}}, {}},
                      Flag{"Add", "broadcast", 6, {{2, 3}, {2, 3}}, {}},
                      Flag{"Mod", "fmod", 13, {{2, 3}, {2, 3}}, {}},
                      Flag{"ReduceSum", "keepdims", 12, {{2, 3}}, {attribute("axes", Dims{1})}},
                      Flag{"ReduceSum", "noop_with_empty_axes", 13, {{2, 3}}, {}}));

TEST(Graph, must_define_each_name_once_and_before_its_use) {
  ModelBuilder unknown(13);
  EXPECT_EQ(error_of([&] {
              import(unknown.input("x", {2}).node("Relu", {"z"}, {"y"}).output("y"));
            }).code(),
            ErrorCode::Io);
  ModelBuilder twice(13);
  twice.input("x", {2}).node("Relu", {"x"}, {"y"}).node("Exp", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of([&] { import(twice); }).code(), ErrorCode::Io);
  ModelBuilder late(13);
  late.input("x", {2}).node("Relu", {"z"}, {"y"}).node("Exp", {"x"}, {"z"}).output("y");
  EXPECT_EQ(error_of([&] { import(late); }).code(), ErrorCode::Io);
  ModelBuilder lost(13);
  EXPECT_EQ(
      error_of([&] { import(lost.input("x", {2}).node("Relu", {"x"}, {"y"}).output("z")); }).code(),
      ErrorCode::Io);
}

} // namespace
} // namespace tilefuse::onnx_import
