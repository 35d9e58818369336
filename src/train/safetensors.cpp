// SPDX-License-Identifier: Apache-2.0
#include "train/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/durable_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/scanner.h"
#include "target/dtype_traits.h"

namespace tilefuse::train {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMostHeader = 100'000'000; // bytes; the limit of the format's own library
constexpr std::size_t kAlignment = 8;             // of the first element
constexpr int kDepth = 4; // of the header: tensors, their members, these lists' numbers
constexpr const char *kMetadata = "__metadata__";
constexpr const char *kHashKey = "tilefuse.xxh3";
const std::string kNoHash(32, '0'); // stands in the place of the hash while it is worked out

static_assert(std::endian::native == std::endian::little, "elements are written as they lie");

[[noreturn]] void damaged(const std::string &file, const std::string &what) {
  throw Error(ErrorCode::Io, fmt::format("not a whole safetensors file: {}", what), file);
}

// ---- Types

// "BF16" for bf16.
std::string format_name(DType type) {
  std::string name(to_string(type));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::optional<DType> find_type(const std::string &name) {
  for (const DTypeTraits &row : dtypes())
    if (format_name(row.type) == name)
      return row.type;
  return std::nullopt;
}

// ---- Writing

std::string_view bytes_of(const program::HostTensor &tensor) {
  return {reinterpret_cast<const char *>(tensor.data.data()), tensor.data.size()};
}

using Named = std::pair<const std::string, program::HostTensor>;

// In the order in which they are written: every tensor begins at a multiple of its elements' size.
std::vector<const Named *> ordered(const TensorMap &all) {
  std::vector<const Named *> tensors;
  for (const Named &tensor : all)
    tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(), [](const Named *a, const Named *b) {
    return size_bytes(a->second.type) > size_bytes(b->second.type);
  });
  return tensors;
}

Json header_of(const std::vector<const Named *> &tensors, const Metadata &metadata) {
  Json header = Json::object();
  header[kMetadata] = metadata;
  header[kMetadata][kHashKey] = kNoHash;
  std::size_t offset = 0;
  for (const Named *named : tensors) {
    const auto &[name, tensor] = *named;
    const std::size_t end = offset + tensor.data.size();
    header[name] = {{"dtype", format_name(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  return header;
}

void check(const std::string &path, const TensorMap &tensors) {
  for (const auto &[name, tensor] : tensors) {
    const std::int64_t bytes = program::elems(tensor.shape) * size_bytes(tensor.type);
    TILEFUSE_CHECK(tensor.data.size() == static_cast<std::size_t>(bytes),
                   "a tensor to write without all its data");
    if (name == kMetadata)
      throw Error(ErrorCode::Io,
                  fmt::format("a tensor cannot have the name {}", tilefuse::quoted(name)), path);
  }
}

// The header's text, padded with spaces, as the format has it.
std::string header_text(const std::string &path, const Json &header) {
  try {
    std::string text = header.dump();
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    if (text.size() > static_cast<std::size_t>(kMostHeader))
      throw Error(ErrorCode::Limit,
                  fmt::format("the names and metadata need {} bytes, at most {} are allowed",
                              text.size(), kMostHeader),
                  path);
    return text;
  } catch (const Json::exception &) {
    throw Error(ErrorCode::Io, "a name or a text of the metadata is not UTF-8", path);
  }
}

std::string length_text(std::uint64_t length) {
  std::string text(kLengthBytes, '\0');
  std::memcpy(text.data(), &length, text.size());
  return text;
}

// Where the digits of the hash stand in a header.
std::optional<std::size_t> hash_position(std::string_view header, std::string_view digits) {
  const std::string entry = fmt::format("\"{}\":\"{}\"", kHashKey, digits);
  const std::size_t found = header.find(entry);
  if (found == std::string_view::npos)
    return std::nullopt;
  return found + entry.size() - 1 - digits.size();
}

// ---- Reading

struct Entry {
  program::HostTensor tensor; // no data yet
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Of a whole number that is not negative.
std::uint64_t number(const Json &value, const std::string &what, const std::string &file) {
  if (!value.is_number_unsigned())
    damaged(file, fmt::format("{} must be whole numbers of at least 0", what));
  return value.get<std::uint64_t>();
}

// Json of a member that must be there and of a kind.
const Json &member(const Json &object, const char *key, Json::value_t kind,
                   const std::string &whose, const std::string &file) {
  const auto found = object.find(key);
  if (found == object.end() || found->type() != kind)
    damaged(file, fmt::format("tensor {} has no proper {}", whose, tilefuse::quoted(key)));
  return *found;
}

program::Shape shape_of(const Json &list, const std::string &whose, const std::string &file) {
  program::Shape shape;
  std::uint64_t elems = 1;
  for (const Json &value : list) {
    const std::uint64_t dim = number(value, fmt::format("dimensions of tensor {}", whose), file);
    if (__builtin_mul_overflow(elems, std::max<std::uint64_t>(dim, 1), &elems) || elems >> 58 != 0)
      damaged(file, fmt::format("the shape of tensor {} is larger than any file", whose));
    shape.push_back(static_cast<std::int64_t>(dim));
  }
  return shape;
}

Entry entry_of(const std::string &name, const Json &json, const std::string &file) {
  const std::string whose = tilefuse::quoted(name);
  if (!json.is_object())
    damaged(file, fmt::format("tensor {} is not described", whose));
  const std::string type_name =
      member(json, "dtype", Json::value_t::string, whose, file).get<std::string>();
  const std::optional<DType> type = find_type(type_name);
  if (!type)
    throw Error(ErrorCode::Unsupported,
                fmt::format("tensor {}: elements of {} are not supported", whose,
                            tilefuse::quoted(type_name)),
                file);
  Entry entry{.tensor = {.name = name, .type = *type}};
  entry.tensor.shape =
      shape_of(member(json, "shape", Json::value_t::array, whose, file), whose, file);
  const Json &offsets = member(json, "data_offsets", Json::value_t::array, whose, file);
  if (offsets.size() != 2)
    damaged(file, fmt::format("tensor {} has {} offsets, need 2", whose, offsets.size()));
  entry.begin = number(offsets[0], fmt::format("offsets of tensor {}", whose), file);
  entry.end = number(offsets[1], fmt::format("offsets of tensor {}", whose), file);
  const auto need =
      static_cast<std::uint64_t>(program::elems(entry.tensor.shape) * size_bytes(*type));
  if (entry.end < entry.begin || entry.end - entry.begin != need)
    damaged(file,
            fmt::format("tensor {} lies at {} to {}; [{}] of {} need {} bytes", whose, entry.begin,
                        entry.end, fmt::join(entry.tensor.shape, ", "), to_string(*type), need));
  return entry;
}

// In the order of their places, which must fill the file.
void check_places(std::vector<Entry> &entries, std::uint64_t data_bytes, const std::string &file) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t next = 0;
  for (const Entry &entry : entries) {
    if (entry.begin != next)
      damaged(file, fmt::format("tensor {} begins at {}, where the one before it ends at {}",
                                tilefuse::quoted(entry.tensor.name), entry.begin, next));
    next = entry.end;
  }
  if (next != data_bytes)
    damaged(file, fmt::format("its tensors need {} bytes, it holds {}", next, data_bytes));
}

// A JSON object in which no object has a key twice; what is nested deeper than headers are is left out.
Json parse_header(const std::string &text, const std::string &file) {
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto note = [&](int depth, Json::parse_event_t event, Json &value) {
    if (depth >= kDepth)
      return false;
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.empty() &&
        !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  Json header = Json::parse(text, note, false);
  if (!header.is_object())
    damaged(file, "its header is not a JSON object");
  if (!twice.empty())
    damaged(file, fmt::format("its header says {} twice", tilefuse::quoted(twice)));
  return header;
}

Metadata metadata_of(const Json &header, const std::string &file) {
  Metadata metadata;
  const auto found = header.find(kMetadata);
  if (found == header.end())
    return metadata;
  if (!found->is_object())
    damaged(file, "its metadata is not a JSON object");
  for (const auto &[key, value] : found->items()) {
    if (!value.is_string())
      damaged(file, fmt::format("the metadata's {} is not a text", tilefuse::quoted(key)));
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

class Reader {
public:
  Reader(std::istream &in, std::int64_t bytes, const std::string &file)
      : in_(in), left_(bytes), file_(file) {}

  SealedFile read() {
    read_header();
    const Json header = parse_header(text_, file_);
    SealedFile result;
    result.content.metadata = metadata_of(header, file_);
    std::vector<Entry> entries;
    for (const auto &[name, value] : header.items())
      if (name != kMetadata)
        entries.push_back(entry_of(name, value, file_));
    check_places(entries, static_cast<std::uint64_t>(left_), file_);
    const std::optional<std::string> expected = take_hash(result.content.metadata);
    begin_hash(expected);
    for (const Entry &entry : entries)
      result.content.tensors.emplace(entry.tensor.name, with_data(entry));
    if (expected && hash_.digits() != *expected)
      throw Error(ErrorCode::Io,
                  "the file was damaged or changed after it was written: its hash differs", file_,
                  {fmt::format("what was changed on purpose is read once its metadata lack {}",
                               tilefuse::quoted(kHashKey))});
    result.is_sealed = expected.has_value();
    return result;
  }

private:
  void read_exactly(char *to, std::int64_t bytes) {
    if (bytes > left_)
      damaged(file_, "it is cut short");
    in_.read(to, static_cast<std::streamsize>(bytes));
    if (in_.gcount() != static_cast<std::streamsize>(bytes))
      throw Error(ErrorCode::Io, "cannot read the file", file_);
    left_ -= bytes;
  }

  void read_header() {
    std::uint64_t length = 0;
    read_exactly(reinterpret_cast<char *>(&length), kLengthBytes);
    if (length > static_cast<std::uint64_t>(std::min(left_, kMostHeader)))
      damaged(file_, fmt::format("it has no header of {} bytes", length));
    text_.resize(length);
    read_exactly(text_.data(), static_cast<std::int64_t>(length));
  }

  static std::optional<std::string> take_hash(Metadata &metadata) {
    const auto found = metadata.find(kHashKey);
    if (found == metadata.end())
      return std::nullopt;
    std::string digits = std::move(found->second);
    metadata.erase(found);
    return digits;
  }

  void begin_hash(const std::optional<std::string> &expected) {
    if (!expected)
      return;
    const std::optional<std::size_t> position = hash_position(text_, *expected);
    if (position && expected->size() == kNoHash.size())
      text_.replace(*position, kNoHash.size(), kNoHash);
    hash_.add(text_);
  }

  program::HostTensor with_data(const Entry &entry) {
    const auto &[name, type, shape, none] = entry.tensor;
    program::HostTensor tensor = program::make_host_tensor(name, type, shape);
    read_exactly(reinterpret_cast<char *>(tensor.data.data()),
                 static_cast<std::int64_t>(tensor.data.size()));
    hash_.add(bytes_of(tensor));
    if (tensor.type == DType::Bool)
      for (std::byte &value : tensor.data)
        value = value == std::byte{0} ? std::byte{0} : std::byte{1};
    return tensor;
  }

  std::istream &in_;
  std::int64_t left_;
  const std::string &file_;
  std::string text_;
  ContentHash hash_;
};

} // namespace

void write_safetensors(const std::string &path, const TensorFile &file) {
  write_safetensors(path, file.tensors, file.metadata);
}

void write_safetensors(const std::string &path, const TensorMap &tensors,
                       const Metadata &metadata) {
  check(path, tensors);
  const std::vector<const Named *> in_order = ordered(tensors);
  std::string header = header_text(path, header_of(in_order, metadata));
  ContentHash hash;
  hash.add(header);
  for (const Named *tensor : in_order)
    hash.add(bytes_of(tensor->second));
  const std::optional<std::size_t> position = hash_position(header, kNoHash);
  TILEFUSE_CHECK(position, "a header without a place for its hash");
  header.replace(*position, kNoHash.size(), hash.digits());
  const std::string length = length_text(header.size());
  std::vector<std::string_view> pieces = {length, header};
  for (const Named *tensor : in_order)
    pieces.push_back(bytes_of(tensor->second));
  write_durably(path, pieces);
}

SealedFile read_sealed(const std::string &path) {
  const std::int64_t bytes = file_bytes(path);
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Error(ErrorCode::Io, "cannot read the file", path);
  return read_sealed(in, bytes, path);
}

TensorFile read_safetensors(const std::string &path) { return read_sealed(path).content; }

SealedFile read_sealed(std::istream &in, std::int64_t bytes, const std::string &file) {
  return Reader(in, bytes, file).read();
}

} // namespace tilefuse::train
