// SPDX-License-Identifier: Apache-2.0
#include "onnx/reader.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/scanner.h"
#include "onnx/in_place.h"

namespace tilefuse::onnx_import {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const std::string &message) { throw Error(ErrorCode::Io, message); }

// A file beside it whose name is nearly that.
std::string beside(const fs::path &path) {
  constexpr std::size_t kMost = 1000;
  std::vector<std::string> names;
  std::error_code code;
  fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", code);
  for (; !code && entry != fs::directory_iterator() && names.size() < kMost; entry.increment(code))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return did_you_mean(path.filename().string(), names);
}

std::uint64_t regular_file_size(const fs::path &path) {
  std::error_code code;
  if (!fs::exists(path, code))
    fail(fmt::format("{} does not exist{}", tilefuse::quoted(path.string()), beside(path)));
  if (!fs::is_regular_file(path, code))
    fail(fmt::format("{} is not a file", tilefuse::quoted(path.string())));
  const std::uint64_t size = fs::file_size(path, code);
  if (code)
    fail(fmt::format("cannot read {}: {}", tilefuse::quoted(path.string()), code.message()));
  return size;
}

// `bytes` bytes at `offset`; the caller has checked that the file is long enough.
void read_at(const fs::path &path, std::uint64_t offset, char *to, std::uint64_t bytes) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(to, static_cast<std::streamsize>(bytes));
  if (!file)
    fail(fmt::format("cannot read {}", tilefuse::quoted(path.string())));
}

// Warnings that protobuf would print about a bad file are worthless beside our error.
class QuietProtobuf {
  google::protobuf::LogSilencer silencer_;
};

// `of` is what the bytes are called.
template <class Message>
Message parse_bytes(std::string_view bytes, const std::string &of, const char *what) {
  const QuietProtobuf quiet;
  Message message;
  const bool is_short = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (bytes.empty() || !is_short ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(fmt::format("{} is not {}, or it is cut short or damaged", of, what));
  return message;
}

Buffer read_message(const std::string &path, const char *what) {
  const std::uint64_t size = regular_file_size(path);
  if (size > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::Limit,
                fmt::format("{} has {} bytes; {} may have at most 2 GiB", tilefuse::quoted(path),
                            size, what),
                {}, {"store the weights as external data beside the model"});
  Buffer bytes(size);
  read_at(path, 0, bytes.chars().data(), size);
  return bytes;
}

std::int64_t default_opset(const onnx::ModelProto &model) {
  std::int64_t opset = 1;
  for (const auto &entry : model.opset_import())
    if (entry.domain().empty() || entry.domain() == "ai.onnx")
      opset = std::max(opset, entry.version());
  return opset;
}

std::optional<std::uint64_t> parse_number(const std::string &text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

bool is_inside(const fs::path &path, const fs::path &folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// The real path of an external file, checked to lie in `folder`.
fs::path external_path(const onnx::TensorProto &tensor, const std::string &location,
                       const fs::path &folder) {
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
      climbs)
    fail(fmt::format(
        "external data of tensor {}: location {} must be a path inside the model's folder",
        tilefuse::quoted(tensor.name()), tilefuse::quoted(location)));
  std::error_code code;
  const fs::path real_folder = fs::canonical(folder.empty() ? fs::path(".") : folder, code);
  if (code)
    fail(fmt::format("cannot read {}: {}", tilefuse::quoted(folder.string()), code.message()));
  const fs::path real = fs::canonical(real_folder / relative, code);
  if (code)
    fail(fmt::format("external data of tensor {}: {}: {}", tilefuse::quoted(tensor.name()),
                     tilefuse::quoted(location), code.message()));
  if (!is_inside(real, real_folder))
    fail(fmt::format("external data of tensor {}: {} is a link that leaves the model's folder",
                     tilefuse::quoted(tensor.name()), tilefuse::quoted(location)));
  return real;
}

constexpr const char *kModel = "an ONNX model";
constexpr const char *kTensor = "an ONNX tensor";

ModelFile model_file(onnx::ModelProto model, const fs::path &folder, const std::string &of) {
  if (!model.has_graph() || model.graph().output_size() == 0)
    fail(fmt::format("{} is not an ONNX model: it has no graph with outputs", of));
  const std::int64_t opset = default_opset(model);
  return {std::move(model), folder, opset};
}

ModelFile parse_in_place(std::shared_ptr<const Buffer> bytes, const fs::path &folder,
                         const std::string &of) {
  const std::optional<Shell> shell = shell_of(bytes->text());
  if (!shell)
    return model_file(parse_bytes<onnx::ModelProto>(bytes->text(), of, kModel), folder, of);
  ModelFile file = model_file(parse_bytes<onnx::ModelProto>(shell->bytes, of, kModel), folder, of);
  leave_in_place(file.model, *shell, bytes->text());
  file.bytes = std::move(bytes);
  return file;
}

std::string in_memory(std::string_view bytes) {
  return fmt::format("what lies in {} bytes of memory", bytes.size());
}

} // namespace

ModelFile read_model(const std::string &path) {
  return parse_in_place(std::make_shared<const Buffer>(read_message(path, kModel)),
                        fs::path(path).parent_path(), tilefuse::quoted(path));
}

ModelFile parse_model(std::string_view bytes, const fs::path &folder) {
  const std::string of = in_memory(bytes);
  return model_file(parse_bytes<onnx::ModelProto>(bytes, of, kModel), folder, of);
}

ModelFile parse_model(std::shared_ptr<const Buffer> bytes, const fs::path &folder) {
  const std::string of = in_memory(bytes->text());
  return parse_in_place(std::move(bytes), folder, of);
}

std::string_view in_place(const ModelFile &file) {
  return file.bytes ? file.bytes->text() : std::string_view();
}

onnx::TensorProto read_tensor_message(const std::string &path) {
  return parse_bytes<onnx::TensorProto>(read_message(path, kTensor).text(), tilefuse::quoted(path),
                                        kTensor);
}

ExternalPlace external_place(const onnx::TensorProto &tensor) {
  ExternalPlace place;
  for (const auto &entry : tensor.external_data()) {
    if (entry.key() == "location")
      place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length")
      continue;
    const auto number = parse_number(entry.value());
    if (!number)
      fail(fmt::format("external data of tensor {}: {} {} is not a number",
                       tilefuse::quoted(tensor.name()), entry.key(),
                       tilefuse::quoted(entry.value())));
    if (entry.key() == "offset")
      place.offset = *number;
    else
      place.length = *number;
  }
  return place;
}

fs::path external_file(const onnx::TensorProto &tensor, const fs::path &folder) {
  return external_path(tensor, external_place(tensor).location, folder);
}

program::Bytes read_external(const onnx::TensorProto &tensor, const fs::path &folder,
                             std::int64_t bytes) {
  const ExternalPlace place = external_place(tensor);
  const fs::path path = external_path(tensor, place.location, folder);
  const std::uint64_t size = regular_file_size(path);
  const auto need = static_cast<std::uint64_t>(bytes);
  if (place.length && *place.length != need)
    fail(fmt::format("external data of tensor {} has length {}; its shape and type need {}",
                     tilefuse::quoted(tensor.name()), *place.length, need));
  if (place.offset > size || need > size - place.offset)
    fail(fmt::format("external data of tensor {}: {} has {} bytes; need {} at offset {}",
                     tilefuse::quoted(tensor.name()), tilefuse::quoted(place.location), size, need,
                     place.offset));
  program::Bytes data(need);
  read_at(path, place.offset, reinterpret_cast<char *>(data.data()), need);
  return data;
}

} // namespace tilefuse::onnx_import
