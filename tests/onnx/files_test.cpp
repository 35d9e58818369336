// SPDX-License-Identifier: Apache-2.0
// Tensors in every encoding, and data in other files.
#include <gtest/gtest.h>

#include <cstring>

#include "onnx/model_builder.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::TensorProto;

program::HostTensor read(const TensorProto &tensor) {
  const Folder folder;
  return read_tensor(folder.write("tensor.pb", tensor.SerializeAsString()));
}

TensorProto typed(int type, const Dims &dims) {
  TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  return tensor;
}

void expect_values(const program::HostTensor &tensor, const std::vector<double> &values) {
  ASSERT_EQ(program::elems(tensor.shape), static_cast<std::int64_t>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(program::get(tensor, static_cast<std::int64_t>(i)), values[i]);
}

TEST(Encoding, raw_bytes) {
  TensorProto tensor = typed(TensorProto::FLOAT, {2});
  const float values[] = {1.5F, -2};
  tensor.set_raw_data(values, sizeof(values));
  expect_values(read(tensor), {1.5, -2});
}

TEST(Encoding, one_field_per_value) {
  TensorProto floats = typed(TensorProto::FLOAT, {2, 1});
  floats.add_float_data(1);
  floats.add_float_data(2.5);
  EXPECT_EQ(read(floats).shape, (Dims{2, 1}));
  expect_values(read(floats), {1, 2.5});
  TensorProto doubles = typed(TensorProto::DOUBLE, {1});
  doubles.add_double_data(0.1);
  expect_values(read(doubles), {0.1});
  expect_values(read(int64_tensor("t", {2}, {3, -4})), {3, -4});
}

TEST(Encoding, small_types_in_int32_data) {
  const auto of = [](int type, std::int32_t value) {
    TensorProto tensor = typed(type, {1});
    tensor.add_int32_data(value);
    return tensor;
  };
  expect_values(read(of(TensorProto::FLOAT16, 0x3e00)), {1.5});
  expect_values(read(of(TensorProto::BFLOAT16, 0x3fc0)), {1.5});
  expect_values(read(of(TensorProto::INT8, -128)), {-128});
  expect_values(read(of(TensorProto::UINT8, 255)), {255});
  expect_values(read(of(TensorProto::BOOL, 7)), {1});
  expect_values(read(of(TensorProto::INT32, -70000)), {-70000});
  EXPECT_EQ(error_of([&] { read(of(TensorProto::INT8, 128)); }).code(), ErrorCode::Io);
  EXPECT_EQ(error_of([&] { read(of(TensorProto::FLOAT16, -1)); }).code(), ErrorCode::Io);
}

TEST(Encoding, element_counts_must_match) {
  TensorProto few = typed(TensorProto::FLOAT, {3});
  few.add_float_data(1);
  TensorProto raw = typed(TensorProto::FLOAT, {3});
  raw.set_raw_data("12345");
  TensorProto negative = typed(TensorProto::FLOAT, {-3});
  TensorProto other = typed(TensorProto::INT64, {1});
  other.add_float_data(1);
  for (const TensorProto &tensor : {few, raw, negative, other})
    EXPECT_EQ(error_of([&] { read(tensor); }).code(), ErrorCode::Io);
  EXPECT_EQ(error_of([&] { read(typed(TensorProto::STRING, {1})); }).code(),
            ErrorCode::Unsupported);
  EXPECT_EQ(error_of([&] { read(typed(99, {1})); }).code(), ErrorCode::Unsupported);
}

TEST(Encoding, scalars_and_empty_tensors) {
  expect_values(read(float_tensor("t", {})), {0.25});
  expect_values(read(typed(TensorProto::FLOAT, {2, 0})), {});
}

// A model that adds external tensor "w" of 2 floats to its input.
class ExternalData : public testing::Test {
protected:
  TensorProto weight(const std::map<std::string, std::string> &entries) {
    TensorProto tensor = typed(TensorProto::FLOAT, {2});
    tensor.set_name("w");
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto &[key, value] : entries) {
      auto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return tensor;
  }

  program::Program import_with(const std::map<std::string, std::string> &entries) {
    ModelBuilder model(13);
    model.input("x", {2}).initializer(weight(entries)).node("Add", {"x", "w"}, {"y"}).output("y");
    return import_model(folder_.write("models/model.onnx", model.proto.SerializeAsString()),
                        operators_library(), {});
  }

  void write_floats(const std::string &name) {
    const float values[] = {0, 3, 4};
    folder_.write(name, std::string(reinterpret_cast<const char *>(values), sizeof(values)));
  }

  Folder folder_;
};

TEST_F(ExternalData, inside_the_folder_is_read) {
  write_floats("models/data/w.bin");
  for (const auto &entries :
       {std::map<std::string, std::string>{
            {"location", "data/w.bin"}, {"offset", "4"}, {"length", "8"}},
        std::map<std::string, std::string>{{"location", "./data/w.bin"}, {"offset", "4"}}}) {
    const program::Program program = import_with(entries);
    for (const auto &tensor : program.tensors)
      if (tensor.role == program::Role::Constant) {
        EXPECT_EQ(load_element(tensor.data->data(), DType::F32, 0), 3);
        EXPECT_EQ(load_element(tensor.data->data(), DType::F32, 1), 4);
      }
  }
}

TEST_F(ExternalData, outside_the_folder_is_refused) {
  write_floats("w.bin");
  write_floats("models/data/w.bin");
  std::filesystem::create_symlink(folder_.path() / "w.bin", folder_.path() / "models/link.bin");
  std::filesystem::create_directory_symlink(folder_.path(), folder_.path() / "models/up");
  const std::string absolute = (folder_.path() / "models/data/w.bin").string();
  for (const std::string &location :
       {std::string("../w.bin"), std::string("data/../../w.bin"), std::string("data/../data/w.bin"),
        absolute, std::string("link.bin"), std::string("up/w.bin"), std::string(),
        std::string("data/w.bin\0x", 12)})
    EXPECT_EQ(error_of([&] {
                import_with({{"location", location}});
              }).code(),
              ErrorCode::Io)
        << location;
}

TEST_F(ExternalData, link_inside_the_folder_is_read) {
  write_floats("models/data/w.bin");
  std::filesystem::create_symlink("data/w.bin", folder_.path() / "models/link.bin");
  EXPECT_EQ(import_with({{"location", "link.bin"}}).outputs.size(), 1U);
}

TEST_F(ExternalData, must_lie_within_its_file) {
  write_floats("models/w.bin");
  using Entries = std::map<std::string, std::string>;
  for (const Entries &more :
       {Entries{{"offset", "5"}}, Entries{{"offset", "18446744073709551615"}},
        Entries{{"offset", "-4"}}, Entries{{"length", "4"}}, Entries{{"length", "x"}},
        Entries{{"offset", "99999999999999999999"}}}) {
    Entries entries = more;
    entries["location"] = "w.bin";
    EXPECT_EQ(error_of([&] { import_with(entries); }).code(), ErrorCode::Io);
  }
  for (const char *location : {"none.bin", "data"})
    EXPECT_EQ(error_of([&] { import_with({{"location", location}}); }).code(), ErrorCode::Io);
}

TEST(TensorFile, that_is_none_is_an_error) {
  const Folder folder;
  for (const std::string &bytes :
       {std::string(), std::string("no tensor at all"), std::string(64, '\xff')})
    EXPECT_NE(error_of([&] { read_tensor(folder.write("t.pb", bytes)); }).code(),
              ErrorCode::Cancelled);
  EXPECT_EQ(error_of([&] { read_tensor(folder.path().string()); }).code(), ErrorCode::Io);
}

} // namespace
} // namespace tilefuse::onnx_import
