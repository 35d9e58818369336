// SPDX-License-Identifier: Apache-2.0
#include "ort/wire.h"

#include <bit>

namespace tilefuse::ort {
namespace {

enum WireType : unsigned { kVarint = 0, kLength = 2, kFixed32 = 5 };

std::uint64_t tag(int field, WireType type) { return static_cast<unsigned>(field) << 3 | type; }

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

} // namespace tilefuse::ort
