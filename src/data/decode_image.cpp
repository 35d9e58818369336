// SPDX-License-Identifier: Apache-2.0
#include "data/decode_image.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.h"
#include "data/jpeg.h"

namespace {

// The largest block that a decoder needs: 16-bit pixels of four channels. A PNG that says it is
// small and unpacks to more ends here.
constexpr std::size_t kMostBlock = std::size_t{1} << 30;

void *take_block(std::size_t bytes) { return bytes > kMostBlock ? nullptr : std::malloc(bytes); }
void *grow_block(void *block, std::size_t bytes) {
  return bytes > kMostBlock ? nullptr : std::realloc(block, bytes);
}

} // namespace

#define STBI_MALLOC take_block
#define STBI_REALLOC grow_block
#define STBI_FREE std::free
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#include <stb/stb_image.h>

namespace tilefuse::data {
namespace {

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (char byte : bytes)
    value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Whether the chunks of a PNG are as their check sums say, which the decoder leaves out.
bool is_whole_png(std::string_view png) {
  constexpr std::size_t kFrame = 12; // length, type and sum of a chunk
  std::size_t at = 8;                // behind the signature
  while (at + kFrame <= png.size()) {
    const std::size_t length = big_endian(png.substr(at, 4));
    if (length > png.size() - at - kFrame)
      return false;
    const std::string_view summed = png.substr(at + 4, 4 + length);
    const auto sum = crc32_z(0, reinterpret_cast<const Bytef *>(summed.data()), summed.size());
    if (sum != big_endian(png.substr(at + 8 + length, 4)))
      return false;
    if (summed.starts_with("IEND"))
      return true;
    at += kFrame + length;
  }
  return false;
}

} // namespace

Image decode_image(std::string_view bytes, const std::string &file, std::int64_t most_pixels) {
  if (is_jpeg(bytes))
    return decode_jpeg(bytes, file, most_pixels);
  if (bytes.starts_with("\x89PNG") && !is_whole_png(bytes))
    throw Error(ErrorCode::Io, "the PNG is damaged or truncated", file);
  const auto *data = reinterpret_cast<const stbi_uc *>(bytes.data());
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::Limit, "the file is larger than 2 GiB", file);
  const int length = static_cast<int>(bytes.size());
  int width = 0;
  int height = 0;
  int channels = 0;
  const auto not_an_image = [&] {
    return Error(ErrorCode::Io,
                 fmt::format("not an image that can be read; need JPEG, PNG, BMP or GIF of at "
                             "most {} megapixels",
                             kMaxPixels >> 20),
                 file);
  };
  if (stbi_info_from_memory(data, length, &width, &height, &channels) == 0)
    throw not_an_image();
  // A BMP whose first row is the top one says so by a negative height.
  if (width < 1 || height == 0 || height == std::numeric_limits<int>::min())
    throw not_an_image();
  Image image = blank_image(width, std::abs(height), file, most_pixels);
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> decoded(
      stbi_load_from_memory(data, length, &width, &height, &channels, kChannels), &stbi_image_free);
  if (!decoded)
    throw not_an_image();
  if (width != image.width || height != image.height)
    image = blank_image(width, height, file, most_pixels);
  std::memcpy(image.rgb.data(), decoded.get(), image.rgb.size());
  return image;
}

} // namespace tilefuse::data
