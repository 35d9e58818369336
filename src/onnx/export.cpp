// SPDX-License-Identifier: Apache-2.0
#include "onnx/export.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/read_file.h"
#include "base/scanner.h"
#include "onnx/in_place.h"
#include "onnx/merged_parameters.h"
#include "onnx/reader.h"
#include "onnx/stored.h"
#include "onnx/tensor.h"

namespace tilefuse::onnx_import {
namespace {

namespace fs = std::filesystem;

using Tensors = std::map<std::string, program::HostTensor>;
using Texts = std::map<std::string, std::string>;

constexpr std::int64_t kMostBeside =
    std::numeric_limits<std::int64_t>::max(); // bytes of a file of data

bool is_external(const onnx::TensorProto &tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

// The elements of `value` as the file has them; none when they are there already.
std::optional<program::Bytes> new_data(const program::HostTensor &value,
                                       const program::HostTensor &there) {
  if (value.shape != there.shape)
    throw Error(ErrorCode::Shape,
                fmt::format("{} has shape [{}] in the model, got [{}]",
                            tilefuse::quoted(there.name), fmt::join(there.shape, ", "),
                            fmt::join(value.shape, ", ")));
  if (value.type != there.type && !(is_float(value.type) && is_float(there.type)))
    throw Error(ErrorCode::Type,
                fmt::format("{} is of {} in the model, got {}", tilefuse::quoted(there.name),
                            to_string(there.type), to_string(value.type)));
  program::HostTensor data = narrowed(value, there.type);
  if (data.data == there.data)
    return std::nullopt;
  return std::move(data.data);
}

void drop_checksum(onnx::TensorProto &tensor) {
  auto &entries = *tensor.mutable_external_data();
  entries.erase(std::remove_if(entries.begin(), entries.end(),
                               [](const auto &entry) { return entry.key() == "checksum"; }),
                entries.end());
}

void set_location(onnx::TensorProto &tensor, const std::string &location) {
  for (auto &entry : *tensor.mutable_external_data())
    if (entry.key() == "location")
      entry.set_value(location);
}

// A model under way to its new place.
class Export {
public:
  Export(ModelFile file, const std::string &to) : file_(std::move(file)), to_(to) {
    take_in(file_.model, in_place(file_));
    read_beside();
  }

  void replace(const std::string &name, program::HostTensor value) {
    onnx::TensorProto *tensor = find_stored(*file_.model.mutable_graph(), name);
    if (tensor == nullptr)
      throw Error(ErrorCode::Io,
                  fmt::format("the model stores no tensor {}", tilefuse::quoted(name)), to_);
    program::HostTensor there = to_host_tensor(file_, *tensor);
    there.name = value.name = name;
    const std::optional<program::Bytes> data = new_data(value, there);
    if (data && is_external(*tensor))
      replace_beside(*tensor, *data);
    else if (data)
      store_data(*tensor, *data);
  }

  void add_metadata(const std::string &key, const std::string &value) {
    auto &entries = *file_.model.mutable_metadata_props();
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto &entry) { return entry.key() == key; });
    onnx::StringStringEntryProto *entry = found == entries.end() ? entries.Add() : &*found;
    entry->set_key(key);
    entry->set_value(value);
  }

  void write() {
    move_beside();
    if (file_.model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error(ErrorCode::Limit, "an ONNX model may have at most 2 GiB", to_);
    const std::string bytes = file_.model.SerializeAsString();
    for (const auto &[location, data] : beside_)
      write_durably((fs::path(to_).parent_path() / new_location(location)).string(), data);
    write_durably(to_, bytes);
  }

private:
  // Files of data by the location that tensors have for them.
  void read_beside() {
    visit_tensors(file_.model, [&](const onnx::TensorProto &tensor) {
      if (!is_external(tensor))
        return;
      const std::string location = external_place(tensor).location;
      if (!beside_.contains(location))
        beside_.emplace(location,
                        read_file(external_file(tensor, file_.folder).string(), kMostBeside));
    });
  }

  void replace_beside(const onnx::TensorProto &tensor, const program::Bytes &data) {
    const ExternalPlace place = external_place(tensor);
    std::memcpy(beside_.at(place.location).data() + place.offset, data.data(), data.size());
    changed_.insert(place.location);
  }

  std::string new_location(const std::string &location) const {
    const std::string name = fs::path(to_).filename().string() + ".data";
    return beside_.size() == 1 ? name : (fs::path(name) / location).lexically_normal().string();
  }

  void move_beside() {
    visit_tensors(file_.model, [&](onnx::TensorProto &tensor) {
      if (!is_external(tensor))
        return;
      const std::string location = external_place(tensor).location;
      if (changed_.contains(location))
        drop_checksum(tensor);
      set_location(tensor, new_location(location));
    });
  }

  ModelFile file_;
  std::string to_;
  std::map<std::string, std::string> beside_;
  std::set<std::string> changed_;
};

void export_file(ModelFile file, const std::string &to, const Tensors &replaced,
                 const Texts &metadata) {
  const auto is_stored = [&](const auto &each) {
    return find_stored(*file.model.mutable_graph(), each.first) != nullptr;
  };
  if (!std::all_of(replaced.begin(), replaced.end(), is_stored))
    separate_merged_parameters(file); // as the model that was trained had them
  Export result(std::move(file), to);
  for (const auto &[name, value] : replaced)
    result.replace(name, value);
  for (const auto &[key, value] : metadata)
    result.add_metadata(key, value);
  result.write();
}

} // namespace

void export_model(const std::string &from, const std::string &to, const Tensors &replaced,
                  const Texts &metadata) {
  export_file(read_model(from), to, replaced, metadata);
}

void export_model(const ModelBytes &from, const std::string &to, const Tensors &replaced,
                  const Texts &metadata) {
  export_file(parse_model(from.bytes, from.folder), to, replaced, metadata);
}

void write_model(ModelFile file, const std::string &to) {
  export_file(std::move(file), to, {}, {});
}

} // namespace tilefuse::onnx_import
