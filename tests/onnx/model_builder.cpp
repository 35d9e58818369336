// SPDX-License-Identifier: Apache-2.0
#include "onnx/model_builder.h"
#include "paths.h"

#include <cstdlib>
#include <fstream>

namespace tilefuse::onnx_import {
namespace {

onnx::AttributeProto named(const std::string &name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

} // namespace

onnx::AttributeProto attribute(const std::string &name, std::int64_t value) {
  auto result = named(name, onnx::AttributeProto::INT);
  result.set_i(value);
  return result;
}

onnx::AttributeProto attribute(const std::string &name, double value) {
  auto result = named(name, onnx::AttributeProto::FLOAT);
  result.set_f(static_cast<float>(value));
  return result;
}

onnx::AttributeProto attribute(const std::string &name, const std::string &value) {
  auto result = named(name, onnx::AttributeProto::STRING);
  result.set_s(value);
  return result;
}

onnx::AttributeProto attribute(const std::string &name, const Dims &values) {
  auto result = named(name, onnx::AttributeProto::INTS);
  result.mutable_ints()->Add(values.begin(), values.end());
  return result;
}

onnx::AttributeProto attribute(const std::string &name, const onnx::TensorProto &value) {
  auto result = named(name, onnx::AttributeProto::TENSOR);
  *result.mutable_t() = value;
  return result;
}

onnx::TensorProto int64_tensor(const std::string &name, const Dims &dims, const Dims &values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.mutable_int64_data()->Add(values.begin(), values.end());
  return tensor;
}

onnx::TensorProto float_tensor(const std::string &name, const Dims &dims) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  for (std::int64_t i = 0; i < program::elems(dims); ++i)
    tensor.add_float_data(static_cast<float>(i + 1) / 4);
  return tensor;
}

ModelBuilder::ModelBuilder(std::int64_t opset) {
  proto.set_ir_version(7);
  proto.add_opset_import()->set_version(opset);
  proto.mutable_graph()->set_name("test");
}

ModelBuilder &ModelBuilder::input(const std::string &name, const Dims &dims, int type) {
  auto *info = proto.mutable_graph()->add_input();
  info->set_name(name);
  auto *tensor = info->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (const std::int64_t dim : dims)
    tensor->mutable_shape()->add_dim()->set_dim_value(dim);
  return *this;
}

ModelBuilder &ModelBuilder::symbolic_input(const std::string &name,
                                           const std::vector<std::string> &dims) {
  input(name, {});
  auto *info = proto.mutable_graph()->mutable_input(proto.graph().input_size() - 1);
  auto *shape = info->mutable_type()->mutable_tensor_type()->mutable_shape();
  for (const std::string &dim : dims) {
    auto *to = shape->add_dim();
    if (dim.empty())
      continue;
    if (dim.find_first_not_of("0123456789") == std::string::npos)
      to->set_dim_value(std::stoll(dim));
    else
      to->set_dim_param(dim);
  }
  return *this;
}

ModelBuilder &ModelBuilder::initializer(const onnx::TensorProto &tensor) {
  *proto.mutable_graph()->add_initializer() = tensor;
  return *this;
}

ModelBuilder &ModelBuilder::node(const std::string &op, const std::vector<std::string> &inputs,
                                 const std::vector<std::string> &outputs,
                                 const std::vector<onnx::AttributeProto> &attributes) {
  auto *node = proto.mutable_graph()->add_node();
  node->set_op_type(op);
  for (const std::string &name : inputs)
    node->add_input(name);
  for (const std::string &name : outputs)
    node->add_output(name);
  for (const auto &attribute : attributes)
    *node->add_attribute() = attribute;
  return *this;
}

ModelBuilder &ModelBuilder::output(const std::string &name) {
  proto.mutable_graph()->add_output()->set_name(name);
  return *this;
}

Folder::Folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tilefuse_onnx_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw Error(ErrorCode::Io, "no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string &name, const std::string &bytes) const {
  const std::filesystem::path file = path_ / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return file.string();
}

const tile::Library &operators_library() {
  static const tile::Library library = tile::read_library(TILEFUSE_SOURCE_DIR "/ops");
  return library;
}

program::Program import_bytes(const std::string &bytes, const Options &options) {
  const Folder folder;
  return import_model(folder.write("model.onnx", bytes), operators_library(), options);
}

program::Program import(const ModelBuilder &model, const Options &options) {
  return import_bytes(model.proto.SerializeAsString(), options);
}

program::Shape output_shape(const program::Program &program, std::size_t output) {
  return program[program.outputs.at(output)].shape;
}

} // namespace tilefuse::onnx_import
