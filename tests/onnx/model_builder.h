// SPDX-License-Identifier: Apache-2.0
// Small ONNX models made by hand, and a folder for the files of one test.
//
//   ModelBuilder model(13);
//   model.input("x", {1, 3, 8, 8}).node("Relu", {"x"}, {"y"}).output("y");
//   program::Program program = import(model);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "onnx.pb.h"
#include "onnx/import.h"

namespace tilefuse::onnx_import {

using Dims = std::vector<std::int64_t>;

onnx::AttributeProto attribute(const std::string &name, std::int64_t value);
onnx::AttributeProto attribute(const std::string &name, double value);
onnx::AttributeProto attribute(const std::string &name, const std::string &value);
onnx::AttributeProto attribute(const std::string &name, const Dims &values);
onnx::AttributeProto attribute(const std::string &name, const onnx::TensorProto &value);

onnx::TensorProto int64_tensor(const std::string &name, const Dims &dims, const Dims &values);
// Elements 0.25, 0.5, 0.75, …
onnx::TensorProto float_tensor(const std::string &name, const Dims &dims);

class ModelBuilder {
public:
  explicit ModelBuilder(std::int64_t opset);

  ModelBuilder &input(const std::string &name, const Dims &dims,
                      int type = onnx::TensorProto::FLOAT);
  // A dimension is a number or a symbol; "" is neither.
  ModelBuilder &symbolic_input(const std::string &name, const std::vector<std::string> &dims);
  ModelBuilder &initializer(const onnx::TensorProto &tensor);
  ModelBuilder &node(const std::string &op, const std::vector<std::string> &inputs,
                     const std::vector<std::string> &outputs,
                     const std::vector<onnx::AttributeProto> &attributes = {});
  ModelBuilder &output(const std::string &name);

  onnx::ModelProto proto;
};

// A fresh folder, removed at the end.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  const std::filesystem::path &path() const { return path_; }
  // Writes a file and returns its path.
  std::string write(const std::string &name, const std::string &bytes) const;

private:
  std::filesystem::path path_;
};

// The library of ops/, read once.
const tile::Library &operators_library();
program::Program import(const ModelBuilder &model, const Options &options = {});
program::Program import_bytes(const std::string &bytes, const Options &options = {});
program::Shape output_shape(const program::Program &program, std::size_t output = 0);
// The error of a function that must throw one; a failed test when it does not.
template <class Function> Error error_of(const Function &function);

} // namespace tilefuse::onnx_import

#include <gtest/gtest.h>

template <class Function>
tilefuse::Error tilefuse::onnx_import::error_of(const Function &function) {
  try {
    function();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::Cancelled, "no error");
}
