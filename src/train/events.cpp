// SPDX-License-Identifier: Apache-2.0
#include "train/events.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace tilefuse::train {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78; // of CRC-32C, its bits reversed

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

template <class Number> std::string little_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + 0xa282ead8U);
}

std::string framed(const std::string &bytes) {
  const std::string length = little_endian(std::uint64_t{bytes.size()});
  return length + masked_crc(length) + bytes + masked_crc(bytes);
}

// Fields of a protobuf message: a varint of number and kind, then the value.
enum FieldKind : std::uint64_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7)
    bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}
std::string key(std::uint64_t field, FieldKind kind) { return varint(field << 3 | kind); }
std::string nested(std::uint64_t field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}

std::string event(double wall_time, std::int64_t step, const std::string &content) {
  return key(1, kEightBytes) + little_endian(wall_time) + key(2, kVarint) +
         varint(static_cast<std::uint64_t>(step)) + content;
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string path_in(const std::string &folder) {
  return (std::filesystem::path(folder) /
          fmt::format("events.out.tfevents.{}.{}", static_cast<std::int64_t>(now()), getpid()))
      .string();
}

} // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> table = crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char byte : bytes)
    crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::string record_of(double wall_time, std::int64_t step, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar &each : scalars)
    summary += nested(1, nested(1, each.tag) + key(2, kFourBytes) +
                             little_endian(static_cast<float>(each.value)));
  return framed(event(wall_time, step, nested(5, summary)));
}

EventFile::EventFile(const std::string &folder, std::int64_t resumed_step)
    : file_(path_in(folder), 0, "events for TensorBoard") {
  file_.append(framed(event(now(), 0, nested(3, "brain.Event:2"))));
  if (resumed_step > 0) {
    const std::string start = key(1, kVarint) + varint(1); // SessionLog.status = START
    file_.append(framed(event(now(), resumed_step + 1, nested(7, start))));
  }
}

void EventFile::add(std::int64_t step, std::span<const Scalar> scalars) {
  file_.append(record_of(now(), step, scalars));
}

} // namespace tilefuse::train
