// SPDX-License-Identifier: Apache-2.0
#include "run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/index.h"
#include "data/decode_image.h"
#include "data/npy.h"
#include "files.h"
#include "onnx/import.h"
#include "open_model.h"
#include "preprocess.h"

namespace tilefuse::tool {
namespace {

using program::HostTensor;

HostTensor read_tensor_file(const std::string &file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (extension == ".npy")
    return data::parse_npy(read_file(file), file);
  if (extension == ".pb")
    return onnx_import::read_tensor(file);
  throw Error(ErrorCode::Io, "not a tensor file by its name; need .npy or .pb", file);
}

std::string input_list(const std::vector<HostTensor> &inputs) {
  std::string text;
  for (const HostTensor &input : inputs)
    text += fmt::format("{}'{}' {}", text.empty() ? "" : ", ", input.name, type_text(input));
  return text.empty() ? "none" : text;
}

// The input a tensor is meant for: by name, or the first that has none yet.
std::size_t find_place(const NamedTensor &given, const std::vector<HostTensor> &inputs,
                       const std::vector<bool> &taken) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (given.name ? inputs[i].name == *given.name : !taken[i])
      return i;
  if (given.name)
    throw Error(ErrorCode::Shape, fmt::format("the model has no input '{}'; its inputs: {}",
                                              *given.name, input_list(inputs)));
  throw Error(
      ErrorCode::Shape,
      fmt::format("more tensors than inputs were given; its inputs: {}", input_list(inputs)),
      given.file);
}

void check(const NamedTensor &given, const HostTensor &input) {
  if (given.tensor.type == input.type && given.tensor.shape == input.shape)
    return;
  const bool type = given.tensor.type != input.type;
  throw Error(type ? ErrorCode::Type : ErrorCode::Shape,
              fmt::format("input '{}' is {}, the file holds {}", input.name, type_text(input),
                          type_text(given.tensor)),
              given.file);
}

} // namespace

NamedTensor read_input(const std::string &argument) {
  std::error_code failure;
  const std::size_t split = argument.rfind('=');
  if (split == std::string::npos || std::filesystem::exists(argument, failure))
    return {{}, argument, read_tensor_file(argument)};
  const std::string file = argument.substr(split + 1);
  return {argument.substr(0, split), file, read_tensor_file(file)};
}

std::vector<HostTensor> describe_inputs(const program::Program &program) {
  std::vector<HostTensor> inputs;
  for (program::TensorId id : program.inputs)
    inputs.push_back({program[id].name, program[id].type, program[id].shape, {}});
  return inputs;
}

std::vector<HostTensor> match_inputs(std::vector<NamedTensor> given,
                                     const std::vector<HostTensor> &inputs) {
  std::vector<HostTensor> matched(inputs.size());
  std::vector<bool> taken(inputs.size(), false);
  for (NamedTensor &tensor : given) {
    const std::size_t place = find_place(tensor, inputs, taken);
    if (taken[place])
      throw Error(ErrorCode::Shape, fmt::format("input '{}' was given twice", inputs[place].name),
                  tensor.file);
    check(tensor, inputs[place]);
    taken[place] = true;
    matched[place] = std::move(tensor.tensor);
    matched[place].name = inputs[place].name;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!taken[i])
      throw Error(ErrorCode::Shape,
                  fmt::format("input '{}' {} was not given", inputs[i].name, type_text(inputs[i])),
                  {}, {"--input NAME=FILE gives a tensor, --image FILE a picture"});
  return matched;
}

ImageRuns read_images(const std::vector<std::string> &files, const Preprocess &settings,
                      const std::vector<HostTensor> &inputs) {
  if (inputs.size() != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("--image needs a model with one input, this one has {}: {}",
                            inputs.size(), input_list(inputs)));
  ImageRuns result;
  result.per_run = image_shape(inputs[0], settings).batch;
  if (result.per_run < 1)
    throw Error(ErrorCode::Shape, "the model's batch is empty");
  const auto count = static_cast<std::int64_t>(files.size());
  const std::int64_t runs = (count - 1) / result.per_run + 1;
  result.filled = runs * result.per_run - count;
  for (std::int64_t r = 0; r < runs; ++r) {
    HostTensor input = program::make_host_tensor(inputs[0].name, inputs[0].type, inputs[0].shape);
    for (std::int64_t n = 0; n < result.per_run; ++n) {
      const std::string &file = files[at(std::min(r * result.per_run + n, count - 1))];
      fill_input(data::decode_image(read_file(file), file), settings, n, input, file);
    }
    result.runs.push_back({std::move(input)});
  }
  return result;
}

std::vector<std::vector<HostTensor>> read_calibration(const std::vector<std::string> &files,
                                                      const Preprocess &settings,
                                                      const std::vector<HostTensor> &inputs) {
  const auto is_tensor = [](const std::string &file) {
    return file.ends_with(".npy") || file.ends_with(".pb");
  };
  std::vector<std::string> pictures;
  std::vector<std::vector<HostTensor>> runs;
  for (const std::string &file : files)
    if (is_tensor(file))
      runs.push_back(match_inputs({read_input(file)}, inputs));
    else
      pictures.push_back(file);
  if (!pictures.empty())
    for (std::vector<HostTensor> &run : read_images(pictures, settings, inputs).runs)
      runs.push_back(std::move(run));
  return runs;
}

} // namespace tilefuse::tool
