// SPDX-License-Identifier: Apache-2.0
// What `run` feeds a model: tensors from files, or pictures gathered into batches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/source.h"
#include "picture_options.h"
#include "program/host_tensor.h"

namespace tilefuse::tool {

// `--input [NAME=]FILE`, read. Without a name it goes to the next input in order.
struct NamedTensor {
  std::optional<std::string> name;
  std::string file;
  program::HostTensor tensor;
};

// A file's name ends the argument; what stands before its last '=' is the input's name, unless the
// whole is a file.
NamedTensor read_input(const std::string &argument);

// Shapes that tensors bind of a model's inputs: those given by name, and others in order. A tensor
// that does not fit what the model says binds nothing; match_inputs() says what is wrong with it.
api::Given bind_shapes(const std::vector<NamedTensor> &given,
                       const std::vector<onnx_import::Declared> &declared);
// The size of pictures, width and height, for an input that leaves its own open.
api::Given bind_picture(const Preprocess &settings,
                        const std::vector<onnx_import::Declared> &declared);

// Every regular picture of folders among the names, by name; other names as they are. Error{Io}
// where a folder has none.
std::vector<std::string> expand_folders(const std::vector<std::string> &files);

// Descriptions of the program's inputs, without data.
std::vector<program::HostTensor> describe_inputs(const program::Program &program);

// Every input from one tensor each, in the program's order. Error{Shape|Type|Io} says which name,
// type or shape is wrong.
std::vector<program::HostTensor> match_inputs(std::vector<NamedTensor> given,
                                              const std::vector<program::HostTensor> &inputs);

// Runs over pictures: the model's one input holds `per_run` of them.
struct ImageRuns {
  std::vector<std::vector<program::HostTensor>> runs;
  std::int64_t per_run = 1;
  std::int64_t filled = 0;           // places of the last run that repeat the last picture
  std::vector<std::string> warnings; // of what was done to the pictures without being asked for
};
ImageRuns read_images(const std::vector<std::string> &files, const PictureSettings &settings,
                      const std::vector<program::HostTensor> &inputs);

// Runs over files to calibrate with: tensors by their names' endings, each a run of a model with
// one input, else pictures.
std::vector<std::vector<program::HostTensor>>
read_calibration(const std::vector<std::string> &files, const PictureSettings &settings,
                 const std::vector<program::HostTensor> &inputs);

// Sizes that a model's inputs leave open, as the first of those files has them.
api::Given bind_calibration(const std::vector<std::string> &files, const Preprocess &settings,
                            const std::vector<onnx_import::Declared> &declared);

} // namespace tilefuse::tool
