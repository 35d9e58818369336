// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic, symbolic dimensions, constants and names.
#include <gtest/gtest.h>

#include <cstring>

#include "base/index.h"
#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

onnx::AttributeProto axis(std::int64_t value) { return attribute("axis", value); }

// Shape → Gather → Unsqueeze → Concat → Reshape, as exporters write a flatten.
ModelBuilder exported_flatten() {
  ModelBuilder model(11);
  model.symbolic_input("x", {"N", "3", "4", "5"});
  model.initializer(int64_tensor("zero", {}, {0})).initializer(int64_tensor("minus", {1}, {-1}));
  model.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "zero"}, {"n"}, {axis(0)});
  model.node("Unsqueeze", {"n"}, {"n1"}, {attribute("axes", Dims{0})});
  model.node("Concat", {"n1", "minus"}, {"to"}, {axis(0)})
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  return model;
}

TEST(Folding, leaves_nothing_of_shape_arithmetic) {
  const program::Program program = import(exported_flatten(), {.batch = 2});
  EXPECT_EQ(output_shape(program), (Dims{2, 60}));
  EXPECT_EQ(program.statements.size(), 1U);
  EXPECT_EQ(program.tensors.size(), 2U);
}

struct Arithmetic {
  std::string op;
  Dims a, b, result;
};

void PrintTo(const Arithmetic &arithmetic, std::ostream *out) { *out << arithmetic.op; }

class IntegerArithmetic : public testing::TestWithParam<Arithmetic> {};

TEST_P(IntegerArithmetic, gives_a_shape) {
  const auto &[op, a, b, result] = GetParam();
  ModelBuilder model(13);
  model.input("x", {24}).initializer(int64_tensor("a", {static_cast<std::int64_t>(a.size())}, a));
  model.initializer(int64_tensor("b", {static_cast<std::int64_t>(b.size())}, b));
  model.node(op, {"a", "b"}, {"to"}).node("Reshape", {"x", "to"}, {"y"}).output("y");
  EXPECT_EQ(output_shape(import(model)), result);
}

INSTANTIATE_TEST_SUITE_P(Folding, IntegerArithmetic,
                         testing::Values(Arithmetic{"Add", {1, 5}, {3, 1}, {4, 6}},
                                         Arithmetic{"Sub", {5, 7}, {1}, {4, 6}},
                                         Arithmetic{"Mul", {2, 3}, {2}, {4, 6}},
                                         Arithmetic{"Div", {9, 13}, {2}, {4, 6}},
                                         Arithmetic{"Max", {4, 1}, {1, 6}, {4, 6}},
                                         Arithmetic{"Min", {4, 9}, {9, 6}, {4, 6}},
                                         Arithmetic{"Gather", {6, 5, 4}, {2, 0}, {4, 6}}));

TEST(Folding, covers_slices_ranges_and_casts) {
  ModelBuilder model(13);
  model.input("x", {2, 3, 4});
  model.initializer(int64_tensor("one", {1}, {1}))
      .initializer(int64_tensor("end", {1}, {9223372036854775807}));
  model.node("Shape", {"x"}, {"shape"}).node("Slice", {"shape", "one", "end"}, {"tail"});
  model.node("Cast", {"tail"}, {"tail32"},
             {attribute("to", std::int64_t{onnx::TensorProto::INT32})});
  model.node("Cast", {"tail32"}, {"tail64"},
             {attribute("to", std::int64_t{onnx::TensorProto::INT64})});
  model.initializer(int64_tensor("minus", {1}, {-1}));
  model.node("Concat", {"tail64", "minus"}, {"to"}, {axis(0)})
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  EXPECT_EQ(output_shape(import(model)), (Dims{3, 4, 2}));
}

TEST(Folding, reports_division_by_zero_and_overflow) {
  const auto code = [](const std::string &op, std::int64_t a, std::int64_t b) {
    ModelBuilder model(13);
    model.input("x", {1})
        .initializer(int64_tensor("a", {1}, {a}))
        .initializer(int64_tensor("b", {1}, {b}));
    model.node(op, {"a", "b"}, {"to"}).node("Reshape", {"x", "to"}, {"y"}).output("y");
    return error_of([&] { import(model); }).code();
  };
  EXPECT_EQ(code("Div", 1, 0), ErrorCode::Shape);
  EXPECT_EQ(code("Div", INT64_MIN, -1), ErrorCode::Limit);
  EXPECT_EQ(code("Mul", INT64_MAX, 2), ErrorCode::Limit);
  EXPECT_EQ(code("Add", INT64_MAX, 1), ErrorCode::Limit);
}

TEST(Folding, shape_computed_at_run_time_is_unsupported) {
  ModelBuilder model(13);
  model.input("x", {4})
      .input("to", {2}, onnx::TensorProto::INT64)
      .node("Reshape", {"x", "to"}, {"y"})
      .output("y");
  const Error error = error_of([&] { import(model); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.where(), "Reshape y");
}

// F.pad as torch.onnx writes it: pads per axis from the last, turned round by a Transpose.
TEST(Folding, covers_the_pads_that_pytorch_writes) {
  ModelBuilder model(16);
  model.input("x", {1, 2, 5, 7});
  model.initializer(int64_tensor("pads", {4}, {1, 2, 3, 4}))
      .initializer(int64_tensor("four", {1}, {4}))
      .initializer(int64_tensor("pairs", {2}, {-1, 2}))
      .initializer(int64_tensor("zero", {1}, {0}))
      .initializer(int64_tensor("minus", {1}, {-1}))
      .initializer(int64_tensor("lowest", {1}, {-9223372036854775807}));
  model
      .node("ConstantOfShape", {"four"}, {"rest"}, {attribute("value", int64_tensor("", {1}, {0}))})
      .node("Concat", {"pads", "rest"}, {"all"}, {axis(0)})
      .node("Reshape", {"all", "pairs"}, {"rows"})
      .node("Slice", {"rows", "minus", "lowest", "zero", "minus"}, {"turned"})
      .node("Transpose", {"turned"}, {"columns"}, {attribute("perm", Dims{1, 0})})
      .node("Reshape", {"columns", "minus"}, {"flat"})
      .node("Cast", {"flat"}, {"to"}, {attribute("to", std::int64_t{onnx::TensorProto::INT64})})
      .node("Pad", {"x", "to"}, {"y"})
      .output("y");
  const program::Program program = import(model);
  EXPECT_EQ(output_shape(program), (Dims{1, 2, 12, 10}));
  EXPECT_EQ(program.statements.size(), 1U);
}

// Whatever the operator and the type, of any size.
TEST(Folding, covers_floats_and_large_tensors) {
  ModelBuilder model(13);
  model.input("x", {100, 200}).initializer(float_tensor("w", {200, 100}));
  model.node("Transpose", {"w"}, {"t"})
      .node("Exp", {"t"}, {"e"})
      .node("ReduceMax", {"e"}, {"m"}, {attribute("keepdims", std::int64_t{0})})
      .node("Div", {"e", "m"}, {"d"})
      .node("Mul", {"x", "d"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).statements.size(), 1U);
}

TEST(Folding, gathers_any_number_of_constants) {
  ModelBuilder model(13);
  Dims places;
  for (std::int64_t i = 0; i < 2401; ++i)
    places.push_back(i * 37 % 169);
  model.input("x", {2401, 4}).initializer(float_tensor("table", {169, 4}));
  model.initializer(int64_tensor("places", {2401}, places));
  model.node("Gather", {"table", "places"}, {"bias"}, {axis(0)})
      .node("Add", {"x", "bias"}, {"y"})
      .output("y");
  const program::Program program = import(model);
  EXPECT_EQ(program.statements.size(), 1U);
  for (const auto &tensor : program.tensors)
    if (tensor.role == program::Role::Constant) {
      EXPECT_EQ(load_element(tensor.data->data(), DType::F32, 4 * 1000 + 3),
                0.25 * static_cast<double>(4 * (1000 * 37 % 169) + 4));
    }
}

// A weight that is standardised by a batch normalisation in training.
TEST(Folding, covers_batch_normalisation_in_training) {
  ModelBuilder model(15);
  model.input("x", {1, 3, 5, 5}).initializer(float_tensor("w", {1, 4, 27}));
  for (const char *name : {"scale", "bias", "mean", "variance"})
    model.initializer(float_tensor(name, {4}));
  model
      .node("BatchNormalization", {"w", "scale", "bias", "mean", "variance"}, {"n"},
            {attribute("training_mode", std::int64_t{1})})
      .initializer(int64_tensor("filter", {4}, {4, 3, 3, 3}))
      .node("Reshape", {"n", "filter"}, {"f"})
      .node("Conv", {"x", "f"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).statements.size(), 1U);
}

// A graph of one node of the operand "x".
onnx::AttributeProto branch(const std::string &name, const std::string &op) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  auto *node = attribute.mutable_g()->add_node();
  node->set_op_type(op);
  node->add_input("x");
  node->add_output("inner");
  attribute.mutable_g()->add_output()->set_name("inner");
  return attribute;
}

TEST(Folding, takes_the_branch_of_a_known_condition) {
  ModelBuilder model(13);
  model.input("x", {3}).initializer(int64_tensor("three", {}, {3}));
  model.node("Size", {"x"}, {"size"}).node("Equal", {"size", "three"}, {"is"});
  for (const char *result : {"a", "b"})
    model.node("If", {"is"}, {result},
               {branch("then_branch", "Exp"), branch("else_branch", "Foo")});
  const program::Program program = import(model.node("Add", {"a", "b"}, {"y"}).output("y"));
  ASSERT_EQ(program.statements.size(), 3U);
  EXPECT_EQ(program.statements[0].origin, "Exp If a/inner");
}

TEST(Folding, refuses_a_branch_chosen_at_run_time) {
  ModelBuilder model(13);
  model.input("x", {3}).input("c", {}, onnx::TensorProto::BOOL);
  model.node("If", {"c"}, {"y"}, {branch("then_branch", "Exp"), branch("else_branch", "Relu")});
  const Error error = error_of([&] { import(model.output("y")); });
  EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  EXPECT_EQ(error.message(), "its condition is computed at run time; need a constant");
}

TEST(Functions, of_the_model_take_the_place_of_their_calls) {
  ModelBuilder model(13);
  auto *function = model.proto.add_functions();
  function->set_name("Twice");
  function->set_domain("mine");
  function->add_opset_import()->set_version(13);
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("slope");
  for (const auto &[from, to] : {std::pair{"a", "inner"}, std::pair{"inner", "b"}}) {
    auto *node = function->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input(from);
    node->add_output(to);
    auto *alpha = node->add_attribute();
    alpha->set_name("alpha");
    alpha->set_type(onnx::AttributeProto::FLOAT);
    alpha->set_ref_attr_name("slope");
  }
  model.input("x", {3}).node("Twice", {"x"}, {"m"}, {attribute("slope", 0.5)});
  model.node("Twice", {"m"}, {"y"}).output("y");
  for (auto &node : *model.proto.mutable_graph()->mutable_node())
    node.set_domain("mine");
  const program::Program program = import(model);
  ASSERT_EQ(program.statements.size(), 4U);
  EXPECT_EQ(program.statements[0].origin, "LeakyRelu m/inner");
  EXPECT_EQ(program[program.outputs[0]].name, "y");
}

TEST(Symbols, batch_binds_the_first_dimension) {
  ModelBuilder model(13);
  model.symbolic_input("x", {"N", "3"}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(output_shape(import(model)), (Dims{1, 3}));
  EXPECT_EQ(output_shape(import(model, {.batch = 5})), (Dims{5, 3}));
  EXPECT_EQ(output_shape(import(model, {.input_shapes = {{"x", {7, 3}}}})), (Dims{7, 3}));
}

TEST(Symbols, are_shared_between_inputs) {
  ModelBuilder model(13);
  model.symbolic_input("a", {"N", "H"})
      .symbolic_input("b", {"N", "H"})
      .node("Add", {"a", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(output_shape(import(model, {.input_shapes = {{"b", {2, 6}}}})), (Dims{2, 6}));
  const Options conflict{.input_shapes = {{"a", {2, 6}}, {"b", {2, 5}}}};
  EXPECT_EQ(error_of([&] { import(model, conflict); }).code(), ErrorCode::Shape);
}

TEST(Symbols, unknown_or_conflicting_ones_are_errors) {
  ModelBuilder model(13);
  model.symbolic_input("x", {"", "3", ""}).node("Relu", {"x"}, {"y"}).output("y");
  const std::vector<Options> bad{{},
                                 {.batch = 0},
                                 {.batch = -1},
                                 {.batch = 2, .input_shapes = {{"x", {2, 4, 5}}}},
                                 {.input_shapes = {{"x", {2, 3}}}},
                                 {.input_shapes = {{"x", {2, 3, -1}}}},
                                 {.input_shapes = {{"z", {2, 3, 1}}}}};
  for (const Options &options : bad)
    EXPECT_EQ(error_of([&] { import(model, options); }).code(), ErrorCode::Shape);
  EXPECT_EQ(output_shape(import(model, {.input_shapes = {{"x", {2, 3, 5}}}})), (Dims{2, 3, 5}));
}

TEST(Symbols, batch_that_the_model_does_not_have_is_an_error) {
  ModelBuilder model(13);
  model.input("x", {1, 3}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(error_of([&] { import(model, {.batch = 2}); }).code(), ErrorCode::Shape);
}

TEST(Constants, initializers_that_are_inputs_too_are_constants) {
  ModelBuilder model(8);
  model.input("x", {2, 3}).input("w", {2, 3}).initializer(float_tensor("w", {2, 3}));
  const program::Program program = import(model.node("Add", {"x", "w"}, {"y"}).output("y"));
  ASSERT_EQ(program.inputs.size(), 1U);
  EXPECT_EQ(program[program.inputs[0]].name, "x");
}

TEST(Constants, of_one_shape_and_value_enter_the_program_once) {
  ModelBuilder model(13);
  model.input("x", {4}).initializer(float_tensor("w", {4}));
  model.node("Identity", {"w"}, {"v"})
      .node("Add", {"x", "w"}, {"a"})
      .node("Mul", {"a", "v"}, {"y"})
      .output("y");
  int constants = 0;
  for (const auto &tensor : import(model).tensors)
    constants += tensor.role == program::Role::Constant ? 1 : 0;
  EXPECT_EQ(constants, 1);
}

TEST(Constants, of_whole_numbers_wrap_when_cast) {
  ModelBuilder model(13);
  model.input("x", {3}, onnx::TensorProto::INT8)
      .initializer(int64_tensor("w", {3}, {300, -129, 5}))
      .node("Cast", {"w"}, {"c"}, {attribute("to", std::int64_t{onnx::TensorProto::INT8})});
  const program::Program program = import(model.node("Add", {"x", "c"}, {"y"}).output("y"));
  for (const auto &tensor : program.tensors)
    for (std::int64_t i = 0; tensor.role == program::Role::Constant && i < 3; ++i)
      EXPECT_EQ(load_element(tensor.data->data(), tensor.type, i), (Dims{44, 127, 5})[at(i)]);
}

TEST(Constants, of_shape_repeat_their_value) {
  ModelBuilder model(9);
  model.input("x", {2, 3}).initializer(int64_tensor("shape", {2}, {2, 3}));
  model.node("ConstantOfShape", {"shape"}, {"w"}, {attribute("value", float_tensor("", {1}))});
  const program::Program program = import(model.node("Add", {"x", "w"}, {"y"}).output("y"));
  for (const auto &tensor : program.tensors) {
    if (tensor.role != program::Role::Constant)
      continue;
    EXPECT_EQ(tensor.shape, (Dims{2, 3}));
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(load_element(tensor.data->data(), DType::F32, i), 0.25);
  }
}

TEST(Outputs, keep_their_names_and_may_be_anything) {
  ModelBuilder model(13);
  model.input("x", {2})
      .initializer(float_tensor("w", {2}))
      .node("Relu", {"x"}, {"r"})
      .node("Identity", {"r"}, {"s"});
  const program::Program program = import(model.output("s").output("x").output("r").output("w"));
  std::vector<std::string> names;
  for (const auto id : program.outputs) {
    names.push_back(program[id].name);
    EXPECT_EQ(program[id].role, program::Role::Temporary);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"s", "x", "r", "w"}));
}

TEST(Names, may_hold_anything) {
  const std::string name = "a\"b\n; } int main() { `rm`\t\\\x01";
  ModelBuilder model(13);
  model.input(name, {2}).node("Relu", {name}, {name + "'"}).output(name + "'");
  model.proto.mutable_graph()->mutable_node(0)->set_name(name);
  const program::Program program = import(model);
  EXPECT_EQ(program[program.outputs[0]].name, name + "'");
  EXPECT_EQ(program.statements[0].origin, "Relu a\"b?; } int main() { `rm`?\\?");
  EXPECT_EQ(program::to_text(program::parse_program(program::to_text(program))),
            program::to_text(program));
}

} // namespace
} // namespace tilefuse::onnx_import
