// SPDX-License-Identifier: Apache-2.0
// What `run` feeds a model: tensors from files, or pictures gathered into batches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/host_tensor.h"
#include "settings.h"

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
  std::int64_t filled = 0; // places of the last run that repeat the last picture
};
ImageRuns read_images(const std::vector<std::string> &files, const Preprocess &settings,
                      const std::vector<program::HostTensor> &inputs);

// Runs over files to calibrate with: tensors by their names' endings, each a run of a model with
// one input, else pictures.
std::vector<std::vector<program::HostTensor>>
read_calibration(const std::vector<std::string> &files, const Preprocess &settings,
                 const std::vector<program::HostTensor> &inputs);

} // namespace tilefuse::tool
