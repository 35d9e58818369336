// SPDX-License-Identifier: Apache-2.0
// Files to messages. A model file is read whole, must parse completely and must hold a graph; the
// data of its large initializers stay where they were read (in_place.h);
// tensors whose data lie in other files may only name files inside the model's folder (no absolute
// path, no `..`, no link that leaves it). Every mistake is Error{Io}; a file larger than protobuf
// can hold is Error{Limit}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "onnx.pb.h"
#include "program/program.h"

namespace tilefuse::onnx_import {

struct ModelFile {
  onnx::ModelProto model;
  std::filesystem::path folder;             // where external data must lie
  std::int64_t opset = 1;                   // of the default domain; 1 when the file names none
  std::shared_ptr<const Buffer> bytes = {}; // in which data of large initializers stay; may be null
};

ModelFile read_model(const std::string &path);
// The bytes in which some of its data stay; none where there are none such.
std::string_view in_place(const ModelFile &file);
// A model in memory; `folder` is where its external data must lie.
ModelFile parse_model(std::string_view bytes, const std::filesystem::path &folder);
// The same, its large initializers left where they are.
ModelFile parse_model(std::shared_ptr<const Buffer> bytes, const std::filesystem::path &folder);

// The message of a `.pb` file with one TensorProto.
onnx::TensorProto read_tensor_message(const std::string &path);

// Where the data of a tensor lie whose data_location is EXTERNAL.
struct ExternalPlace {
  std::string location; // as the tensor has it
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};
ExternalPlace external_place(const onnx::TensorProto &tensor);
// The file that its location names, checked to be there and to lie in `folder`.
std::filesystem::path external_file(const onnx::TensorProto &tensor,
                                    const std::filesystem::path &folder);

// The `bytes` bytes of a tensor whose data_location is EXTERNAL.
program::Bytes read_external(const onnx::TensorProto &tensor, const std::filesystem::path &folder,
                             std::int64_t bytes);

} // namespace tilefuse::onnx_import
