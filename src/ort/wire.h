// SPDX-License-Identifier: Apache-2.0
// Protobuf's wire format, written by hand: the generated classes of onnx.proto can be in a process
// once, and libtilefuse has them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilefuse::ort {

class Message {
public:
  // Each appends a field of that number.
  void add_int(int field, std::int64_t value);
  void add_float(int field, float value);
  void add_bytes(int field, std::string_view bytes);
  void add(int field, const Message &message) { add_bytes(field, message.bytes_); }

  const std::string &bytes() const { return bytes_; }

private:
  void append_varint(std::uint64_t value);

  std::string bytes_;
};

} // namespace tilefuse::ort
