// SPDX-License-Identifier: Apache-2.0
// Data of large initializers stay in the bytes of their model.
#include "onnx/in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::TensorProto;

constexpr std::int64_t kElems = 4096;

TensorProto raw_tensor(const std::string &name, std::int64_t elems) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(elems);
  std::string data(static_cast<std::size_t>(elems) * sizeof(float), '\0');
  for (std::int64_t i = 0; i < elems; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(data.data() + i * static_cast<std::int64_t>(sizeof(float)), &value, sizeof(float));
  }
  tensor.set_raw_data(data);
  return tensor;
}

// y = x + large + small.
std::string model_with(const TensorProto &large) {
  ModelBuilder model(13);
  model.input("x", {kElems}).initializer(raw_tensor("small", 1)).initializer(large);
  model.node("Add", {"x", "large"}, {"t"}).node("Add", {"t", "small"}, {"y"}).output("y");
  return model.proto.SerializeAsString();
}

std::string bytes_of(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(InPlace, data_of_a_large_initializer_stay_in_the_bytes) {
  const std::string bytes = model_with(raw_tensor("large", kElems));
  const std::optional<Shell> shell = shell_of(bytes);
  ASSERT_TRUE(shell);
  ASSERT_EQ(shell->left.size(), 2U);
  EXPECT_TRUE(shell->left[0].empty());
  EXPECT_EQ(shell->left[1], raw_tensor("large", kElems).raw_data());
  EXPECT_GE(shell->left[1].data(), bytes.data());
  EXPECT_LT(shell->bytes.size(), 1024U);
}

TEST(InPlace, it_is_read_and_written_as_if_it_were_in_the_message) {
  const Folder folder;
  const std::string bytes = model_with(raw_tensor("large", kElems));
  const Model model(folder.write("model.onnx", bytes));
  EXPECT_EQ(program::get(model.parameter("large"), kElems - 1), kElems - 1);
  EXPECT_EQ(program::get(model.parameter("small"), 0), 0);
  EXPECT_TRUE(
      std::ranges::equal(model.parameter_in_place("large").value(), model.parameter("large").data));
  EXPECT_FALSE(model.parameter_in_place("small"));
  EXPECT_FALSE(model.parameter_in_place("none"));
  const std::string to = (folder.path() / "copy.onnx").string();
  model.write(to);
  EXPECT_EQ(bytes_of(to), bytes);
  const program::Program program = model.program(operators_library(), {});
  const auto is_large = [](const program::Tensor &tensor) {
    return tensor.role == program::Role::Constant && program::elems(tensor.shape) == kElems;
  };
  const auto found = std::find_if(program.tensors.begin(), program.tensors.end(), is_large);
  ASSERT_NE(found, program.tensors.end());
  EXPECT_EQ(load_element(found->data->data(), DType::F32, 5), 5);
}

TEST(InPlace, data_of_another_form_are_in_the_message) {
  TensorProto floats = raw_tensor("large", kElems);
  floats.clear_raw_data();
  for (std::int64_t i = 0; i < kElems; ++i)
    floats.add_float_data(1);
  EXPECT_FALSE(shell_of(model_with(floats)));
  TensorProto external = raw_tensor("large", kElems);
  external.set_data_location(TensorProto::EXTERNAL);
  EXPECT_FALSE(shell_of(model_with(external)));
}

TEST(InPlace, what_is_no_message_has_no_shell) {
  const std::string bytes = model_with(raw_tensor("large", kElems));
  for (const std::size_t cut : {std::size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
    const std::string some = bytes.substr(0, cut);
    EXPECT_FALSE(shell_of(some));
    EXPECT_EQ(error_of([&] { import_bytes(some); }).code(), ErrorCode::Io);
  }
  EXPECT_FALSE(shell_of("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
}

TEST(InPlace, its_bytes_must_be_those_of_its_shape) {
  TensorProto tensor = raw_tensor("large", kElems);
  tensor.set_dims(0, kElems - 1);
  const Error error = error_of([&] { import_bytes(model_with(tensor)); });
  EXPECT_EQ(error.code(), ErrorCode::Io);
  EXPECT_EQ(error.message(), "tensor \"large\": it has 16384 bytes; its shape and type need 16380");
}

TEST(InPlace, a_place_outside_the_bytes_is_none) {
  onnx::ModelProto model;
  model.mutable_graph()->add_initializer()->CopyFrom(raw_tensor("large", kElems));
  const std::string bytes = model.SerializeAsString();
  const std::optional<Shell> shell = shell_of(bytes);
  ASSERT_TRUE(shell);
  leave_in_place(model, *shell, bytes);
  TensorProto &tensor = *model.mutable_graph()->mutable_initializer(0);
  EXPECT_EQ(data_in_place(tensor, bytes), shell->left[0]);
  EXPECT_FALSE(data_in_place(tensor, ""));
  for (const char *wrong : {"-1", "99999", "18446744073709551615", "x"}) {
    tensor.mutable_external_data(1)->set_value(wrong);
    EXPECT_FALSE(data_in_place(tensor, bytes)) << wrong;
  }
}

} // namespace
} // namespace tilefuse::onnx_import
