// SPDX-License-Identifier: Apache-2.0
#include "data/encode_png.h"

#include <zlib.h>

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace tilefuse::data {
namespace {

constexpr int kLevel = 6; // of compression

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string chunk(std::string_view kind, std::string_view data) {
  const std::string summed = std::string(kind) + std::string(data);
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef *>(summed.data()), summed.size());
  return big_endian(static_cast<std::uint32_t>(data.size())) + summed +
         big_endian(static_cast<std::uint32_t>(sum));
}

// Rows, each behind a byte that says it is stored as it is.
std::string rows_of(const Image &image) {
  const std::size_t row = static_cast<std::size_t>(image.width) * kChannels;
  std::string rows;
  rows.reserve((row + 1) * static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < static_cast<std::size_t>(image.height); ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char *>(image.rgb.data()) + y * row, row);
  }
  return rows;
}

std::string deflated(const std::string &bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef *>(packed.data()), &size,
                             reinterpret_cast<const Bytef *>(bytes.data()),
                             static_cast<uLong>(bytes.size()), kLevel);
  if (code != Z_OK)
    throw Error(ErrorCode::Limit, "no memory to pack a PNG");
  packed.resize(size);
  return packed;
}

} // namespace

std::string encode_png(const Image &image) {
  constexpr std::string_view kRgb8("\x08\x02\x00\x00\x00", 5); // depth, colour, methods
  std::string head = big_endian(static_cast<std::uint32_t>(image.width)) +
                     big_endian(static_cast<std::uint32_t>(image.height));
  head += kRgb8;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", head) + chunk("IDAT", deflated(rows_of(image))) +
         chunk("IEND", "");
}

} // namespace tilefuse::data
