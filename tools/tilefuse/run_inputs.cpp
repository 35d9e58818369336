// SPDX-License-Identifier: Apache-2.0
#include "run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/index.h"
#include "base/nearest.h"
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

std::string numpy_name(DType type) {
  switch (type) {
  case DType::F64:
    return "float64";
  case DType::F16:
    return "float16";
  case DType::I64:
    return "int64";
  case DType::I32:
    return "int32";
  case DType::I16:
    return "int16";
  case DType::U8:
    return "uint8";
  case DType::U16:
    return "uint16";
  case DType::U32:
    return "uint32";
  case DType::U64:
    return "uint64";
  case DType::I8:
    return "int8";
  case DType::Bool:
    return "bool_";
  default:
    return "float32";
  }
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
  if (given.name) {
    std::vector<std::string> names;
    for (const HostTensor &input : inputs)
      names.push_back(input.name);
    throw Error(
        ErrorCode::Shape,
        fmt::format("the model has no input '{}'{}", *given.name, did_you_mean(*given.name, names)),
        {}, {"its inputs: " + input_list(inputs)});
  }
  throw Error(
      ErrorCode::Shape,
      fmt::format("more tensors than inputs were given; its inputs: {}", input_list(inputs)),
      given.file);
}

// What would make a tensor fit, in numpy's words.
std::vector<std::string> remedy(const HostTensor &got, const HostTensor &input) {
  if (got.type != input.type)
    return {fmt::format("numpy: x.astype(numpy.{})", numpy_name(input.type))};
  if (got.shape.size() + 1 == input.shape.size())
    return {"numpy: x[None] adds the batch axis"};
  const bool is_turned = got.shape.size() == 4 && input.shape.size() == 4 &&
                         got.shape[1] == input.shape[2] && got.shape[2] == input.shape[3] &&
                         got.shape[3] == input.shape[1];
  if (is_turned)
    return {"numpy: x.transpose(0, 3, 1, 2) puts the channels first"};
  return {};
}

void check(const NamedTensor &given, const HostTensor &input) {
  if (given.tensor.type == input.type && given.tensor.shape == input.shape)
    return;
  const bool type = given.tensor.type != input.type;
  throw Error(type ? ErrorCode::Type : ErrorCode::Shape,
              fmt::format("input '{}' is {}, the file holds {}", input.name, type_text(input),
                          type_text(given.tensor)),
              given.file, remedy(given.tensor, input));
}

bool fits(const HostTensor &tensor, const onnx_import::Declared &declared) {
  if (declared.is_typed && tensor.type != declared.type)
    return false;
  if (!declared.is_shaped)
    return true;
  if (tensor.shape.size() != declared.dims.size())
    return false;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d)
    if (declared.dims[d] >= 0 && declared.dims[d] != tensor.shape[d])
      return false;
  return true;
}

constexpr double kSquashed = 1.1; // change of a picture's proportions that is worth a word

void warn_of_shape(const data::Image &image, const std::string &file, const ImageShape &shape,
                   std::vector<std::string> &warnings) {
  const double change = static_cast<double>(image.width) * shape.height /
                        (static_cast<double>(image.height) * shape.width);
  if (warnings.empty() && (change > kSquashed || change < 1 / kSquashed))
    warnings.push_back(fmt::format("{}: {} x {} pixels are squeezed into {} x {}; --pad 114, or "
                                   "--resize-shorter and --crop, keep the proportions",
                                   file, image.width, image.height, shape.width, shape.height));
}

bool is_picture(const std::filesystem::path &path) {
  std::string ending = path.extension().string();
  for (char &c : ending)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".bmp" ||
         ending == ".gif";
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

api::Given bind_shapes(const std::vector<NamedTensor> &given,
                       const std::vector<onnx_import::Declared> &declared) {
  api::Given shapes;
  std::vector<bool> taken(declared.size(), false);
  for (const NamedTensor &tensor : given)
    for (std::size_t i = 0; i < declared.size(); ++i) {
      if (taken[i] || (tensor.name && *tensor.name != declared[i].name))
        continue;
      taken[i] = true;
      if (fits(tensor.tensor, declared[i]))
        shapes[declared[i].name] = {tensor.tensor.type, tensor.tensor.shape};
      break;
    }
  return shapes;
}

api::Given bind_picture(const Preprocess &settings,
                        const std::vector<onnx_import::Declared> &declared) {
  const auto size = settings.crop ? settings.crop : settings.size;
  if (!size || declared.size() != 1 || declared[0].dims.size() != 4 || !declared[0].is_typed)
    return {};
  program::Shape shape = declared[0].dims;
  const bool is_nhwc = settings.nhwc.value_or(shape[3] == 3 || shape[3] == 1);
  const std::size_t height = is_nhwc ? 1 : 2;
  if (shape[height] >= 0 && shape[height + 1] >= 0)
    return {};
  if (shape[0] < 0)
    shape[0] = 1;
  if (shape[height] < 0)
    shape[height] = (*size)[1];
  if (shape[height + 1] < 0)
    shape[height + 1] = (*size)[0];
  return {{declared[0].name, {declared[0].type, shape}}};
}

std::vector<std::string> expand_folders(const std::vector<std::string> &files) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  for (const std::string &file : files) {
    std::error_code failure;
    if (!fs::is_directory(file, failure)) {
      all.push_back(file);
      continue;
    }
    std::vector<std::string> found;
    for (const fs::directory_entry &entry : fs::directory_iterator(file, failure))
      if (entry.is_regular_file(failure) && is_picture(entry.path()))
        found.push_back(entry.path().string());
    if (found.empty())
      throw Error(ErrorCode::Io, "the folder has no pictures; need JPEG, PNG, BMP or GIF", file);
    std::sort(found.begin(), found.end());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

ImageRuns read_images(const std::vector<std::string> &files, const PictureSettings &settings,
                      const std::vector<HostTensor> &inputs) {
  if (inputs.size() != 1)
    throw Error(ErrorCode::Shape,
                fmt::format("--image needs a model with one input, this one has {}: {}",
                            inputs.size(), input_list(inputs)));
  ImageRuns result;
  const ImageShape shape = image_shape(inputs[0], settings.preprocess);
  result.per_run = shape.batch;
  if (result.per_run < 1)
    throw Error(ErrorCode::Shape, "the model's batch is empty");
  const auto count = static_cast<std::int64_t>(files.size());
  const std::int64_t runs = (count - 1) / result.per_run + 1;
  result.filled = runs * result.per_run - count;
  for (std::int64_t r = 0; r < runs; ++r) {
    HostTensor input = program::make_host_tensor(inputs[0].name, inputs[0].type, inputs[0].shape);
    for (std::int64_t n = 0; n < result.per_run; ++n) {
      const std::string &file = files[at(std::min(r * result.per_run + n, count - 1))];
      const data::Image image = data::decode_image(read_file(file), file);
      if (!settings.is_shaped)
        warn_of_shape(image, file, shape, result.warnings);
      fill_input(image, settings.preprocess, n, input, file);
    }
    result.runs.push_back({std::move(input)});
  }
  if (!settings.is_scaled)
    result.warnings.push_back(
        "pixels go in as they are, 0 to 255: nothing says how the model wants "
        "them (--preset imagenet-torch, --scale 1/255, a MODEL.toml, …)");
  return result;
}

namespace {

bool is_tensor(const std::string &file) { return file.ends_with(".npy") || file.ends_with(".pb"); }

} // namespace

api::Given bind_calibration(const std::vector<std::string> &files, const Preprocess &settings,
                            const std::vector<onnx_import::Declared> &declared) {
  return !files.empty() && is_tensor(files.front())
             ? bind_shapes({read_input(files.front())}, declared)
             : bind_picture(settings, declared);
}

std::vector<std::vector<HostTensor>> read_calibration(const std::vector<std::string> &files,
                                                      const PictureSettings &settings,
                                                      const std::vector<HostTensor> &inputs) {
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
