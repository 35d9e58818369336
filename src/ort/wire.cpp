// SPDX-License-Identifier: Apache-2.0
#include "ort/wire.h"

#include <bit>
#include <cstddef>

namespace tilefuse::ort {
namespace {

enum WireType : unsigned { kVarint = 0, kLength = 2, kFixed32 = 5 };

std::uint64_t tag(int field, WireType type) { return static_cast<unsigned>(field) << 3 | type; }

// Bytes that a number takes.
std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 128; value >>= 7)
    ++size;
  return size;
}

// Bytes of a field with so many of content.
std::size_t field_size(int field, std::size_t content) {
  return varint_size(tag(field, kLength)) + varint_size(content) + content;
}

} // namespace

void Message::append_varint(std::uint64_t value) {
  for (; value >= 128; value >>= 7)
    bytes_.push_back(static_cast<char>(value | 128));
  bytes_.push_back(static_cast<char>(value));
}

void Message::add_int(int field, std::int64_t value) {
  append_varint(tag(field, kVarint));
  append_varint(static_cast<std::uint64_t>(value));
}

void Message::add_float(int field, float value) {
  append_varint(tag(field, kFixed32));
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8)
    bytes_.push_back(static_cast<char>(bits >> shift));
}

void Message::add_bytes(int field, std::string_view bytes) {
  append_varint(tag(field, kLength));
  append_varint(bytes.size());
  bytes_.append(bytes);
}

void Message::add_nested(const Nested &nested, std::string_view bytes) {
  const std::size_t content = nested.start.bytes_.size() + field_size(nested.last, bytes.size());
  append_varint(tag(nested.outer, kLength));
  append_varint(field_size(nested.inner, content));
  append_varint(tag(nested.inner, kLength));
  append_varint(content);
  bytes_.append(nested.start.bytes_);
  add_bytes(nested.last, bytes);
}

} // namespace tilefuse::ort
