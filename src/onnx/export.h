// SPDX-License-Identifier: Apache-2.0
// A model that was read, written again with other numbers in its parameters: nodes, names, order, opset, and what
// tilefuse does not know of stay as they were. A parameter keeps its type and its place: raw bytes where it lies in the
// file, the same offset in a file of data beside the model where it lies there.
//
//   export_model("model.onnx", "runs/a/best.onnx", {{"conv1.weight", …}}, {{"tilefuse.step", "500"}});
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "program/host_tensor.h"

namespace tilefuse::onnx_import {

struct ModelFile;

// `replaced` are initializers, or results of Constant nodes, by name; f32 is rounded to what the file has. One whose
// elements are those of the file already is not touched. `metadata` join the file's metadata_props or replace them.
// Where a name is that of a parameter which the file has merged with others (merged_parameters.h), the copy has them apart.
// Data beside the model go to TO.data; were they in several files, these lie in a folder of that name. Each file appears
// whole or not at all, data before the model. Error{Io} for names that the model does not store and where the disk takes
// no more, Error{Shape|Type} where shape or kind of type differ, Error{Limit} for numbers that the type cannot hold.
void export_model(const std::string &from, const std::string &to,
                  const std::map<std::string, program::HostTensor> &replaced,
                  const std::map<std::string, std::string> &metadata);

// The same of a model in memory, whose data beside it lie in `folder`.
struct ModelBytes {
  std::string_view bytes;
  std::filesystem::path folder;
};
void export_model(const ModelBytes &from, const std::string &to,
                  const std::map<std::string, program::HostTensor> &replaced,
                  const std::map<std::string, std::string> &metadata);

// A model as it is.
void write_model(ModelFile file, const std::string &to);

} // namespace tilefuse::onnx_import
