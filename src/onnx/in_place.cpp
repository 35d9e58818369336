// SPDX-License-Identifier: Apache-2.0
#include "onnx/in_place.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/index.h"

namespace tilefuse::onnx_import {
namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::TensorProto;

constexpr std::size_t kLeast = 4096; // bytes that are worth it
constexpr std::string_view kInPlace("\0in place", 9);

enum WireType : std::uint64_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// The fields of a message in protobuf's wire format, one by one.
class Fields {
public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // Whether there is one more; not if what follows is none.
  bool next() {
    const std::string_view from = rest_;
    const std::optional<std::uint64_t> tag = varint();
    if (!tag || *tag > std::numeric_limits<std::uint32_t>::max() || !content(*tag % 8)) {
      rest_ = from;
      return false;
    }
    number_ = *tag / 8;
    is_bytes_ = *tag % 8 == kBytes;
    whole_ = from.substr(0, from.size() - rest_.size());
    return true;
  }
  bool is_at_end() const { return rest_.empty(); }

  bool is_bytes(int number) const { return is_bytes_ && is(number); }
  bool is(int number) const { return number_ == static_cast<std::uint64_t>(number); }
  std::string_view whole() const { return whole_; }     // with its number
  std::string_view content() const { return content_; } // without

private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < std::min<std::size_t>(rest_.size(), 10); ++k) {
      const auto byte = static_cast<unsigned char>(rest_[k]);
      value |= std::uint64_t{byte & 0x7fU} << (7 * k);
      if (byte < 0x80) {
        rest_.remove_prefix(k + 1);
        return value;
      }
    }
    return std::nullopt;
  }

  bool content(std::uint64_t type) {
    if (type == kVarint)
      return varint().has_value();
    const std::optional<std::uint64_t> size = type == kBytes     ? varint()
                                              : type == kFixed64 ? std::optional<std::uint64_t>(8)
                                              : type == kFixed32 ? std::optional<std::uint64_t>(4)
                                                                 : std::nullopt;
    if (!size || *size > rest_.size())
      return false;
    content_ = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return true;
  }

  std::string_view rest_, whole_, content_;
  std::uint64_t number_ = 0;
  bool is_bytes_ = false;
};

void append_varint(std::string &to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    to.push_back(static_cast<char>(value | 0x80));
  to.push_back(static_cast<char>(value));
}

void append_bytes(std::string &to, int number, std::string_view content) {
  append_varint(to, static_cast<std::uint64_t>(number) * 8 + kBytes);
  append_varint(to, content.size());
  to += content;
}

// What stays of an initializer: its only field of raw bytes, unless these are few or its data lie in
// another file.
struct Left {
  std::string_view field, data;
};

// Calls `visit` with each field of a message; false where it is none.
template <class Visit> bool visit_fields(std::string_view message, const Visit &visit) {
  Fields field(message);
  while (field.next())
    visit(field);
  return field.is_at_end();
}

bool find_left(std::string_view tensor, Left &left) {
  int places = 0;
  const bool is_message = visit_fields(tensor, [&](const Fields &field) {
    if (field.is_bytes(TensorProto::kRawDataFieldNumber))
      left = {field.whole(), field.content()};
    places += field.is(TensorProto::kRawDataFieldNumber) ||
              field.is(TensorProto::kExternalDataFieldNumber) ||
              field.is(TensorProto::kDataLocationFieldNumber);
  });
  if (places != 1 || left.data.size() < kLeast)
    left = {};
  return is_message;
}

// By initializer.
std::optional<std::vector<Left>> find_left(std::string_view model) {
  std::vector<Left> left;
  bool are_messages = true;
  const auto look = [&](const Fields &field) {
    if (field.is_bytes(GraphProto::kInitializerFieldNumber))
      are_messages &= find_left(field.content(), left.emplace_back());
  };
  are_messages &= visit_fields(model, [&](const Fields &field) {
    if (field.is_bytes(ModelProto::kGraphFieldNumber))
      are_messages &= visit_fields(field.content(), look);
  });
  return are_messages ? std::optional(std::move(left)) : std::nullopt;
}

std::string without(const Left &left, std::string_view tensor) {
  const auto before = static_cast<std::size_t>(left.field.data() - tensor.data());
  std::string rest(tensor.substr(0, before));
  rest += tensor.substr(before + left.field.size());
  return rest;
}

std::string without(std::span<const Left> left, std::string_view model) {
  std::string rest;
  std::size_t next = 0;
  visit_fields(model, [&](const Fields &of_model) {
    if (!of_model.is_bytes(ModelProto::kGraphFieldNumber)) {
      rest += of_model.whole();
      return;
    }
    std::string graph;
    visit_fields(of_model.content(), [&](const Fields &field) {
      const bool is_tensor = field.is_bytes(GraphProto::kInitializerFieldNumber);
      if (const Left cut = is_tensor ? left[next++] : Left(); !cut.field.empty())
        append_bytes(graph, GraphProto::kInitializerFieldNumber, without(cut, field.content()));
      else
        graph += field.whole();
    });
    append_bytes(rest, ModelProto::kGraphFieldNumber, graph);
  });
  return rest;
}

std::optional<std::size_t> parse_number(const std::string &text) {
  std::size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                 : std::nullopt;
}

void leave(TensorProto &tensor, std::size_t offset, std::size_t length) {
  tensor.set_data_location(TensorProto::EXTERNAL);
  const auto add = [&](const char *key, std::string_view value) {
    onnx::StringStringEntryProto &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(std::string(value));
  };
  add("location", kInPlace);
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

} // namespace

std::optional<Shell> shell_of(std::string_view model) {
  const std::optional<std::vector<Left>> left = find_left(model);
  if (!left)
    return std::nullopt;
  std::size_t bytes = 0;
  Shell shell;
  for (const Left &each : *left) {
    shell.left.push_back(each.data);
    bytes += each.data.size();
  }
  if (bytes < model.size() / 2)
    return std::nullopt;
  shell.bytes = without(*left, model);
  return shell;
}

void leave_in_place(ModelProto &model, const Shell &shell, std::string_view bytes) {
  auto &tensors = *model.mutable_graph()->mutable_initializer();
  TILEFUSE_CHECK(at(tensors.size()) == shell.left.size(), "a shell has other initializers");
  for (std::size_t k = 0; k < shell.left.size(); ++k)
    if (const std::string_view left = shell.left[k]; !left.empty())
      leave(tensors[static_cast<int>(k)], static_cast<std::size_t>(left.data() - bytes.data()),
            left.size());
}

std::optional<std::string_view> data_in_place(const TensorProto &tensor, std::string_view bytes) {
  if (tensor.data_location() != TensorProto::EXTERNAL || tensor.external_data_size() != 3 ||
      tensor.external_data(0).value() != kInPlace)
    return std::nullopt;
  const auto offset = parse_number(tensor.external_data(1).value());
  const auto length = parse_number(tensor.external_data(2).value());
  if (!offset || !length || *offset > bytes.size() || *length > bytes.size() - *offset)
    return std::nullopt;
  return bytes.substr(*offset, *length);
}

void take_in(ModelProto &model, std::string_view bytes) {
  for (TensorProto &tensor : *model.mutable_graph()->mutable_initializer())
    if (const auto data = data_in_place(tensor, bytes)) {
      tensor.clear_external_data();
      tensor.clear_data_location();
      tensor.set_raw_data(data->data(), data->size());
    }
}

} // namespace tilefuse::onnx_import
