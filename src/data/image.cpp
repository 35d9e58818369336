// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "base/error.h"

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
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#include <stb/stb_image.h>

// Its check of weights fails on photographs, right before it scales them to add up to 1.
#define STBIR_ASSERT(condition) ((void)0)
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>

namespace tilefuse::data {
namespace {

constexpr int kChannels = 3;

std::int64_t pixels(int width, int height) { return std::int64_t{width} * height; }

Image blank(int width, int height, const std::string &where) {
  if (pixels(width, height) > kMaxPixels)
    throw Error(ErrorCode::Limit,
                fmt::format("the image would be {} x {}, at most {} megapixels are taken", width,
                            height, kMaxPixels >> 20),
                where);
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(pixels(width, height) * kChannels))};
}

// Whether a JPEG has its end; the decoder fills what is missing with grey.
bool is_whole_jpeg(std::string_view jpeg) {
  std::size_t at = 2; // behind the marker that begins the file
  while (at + 4 <= jpeg.size() && jpeg[at] == '\xff' && jpeg[at + 1] != '\xda') {
    const bool is_filler = jpeg[at + 1] == '\xff';
    const auto high = static_cast<unsigned char>(jpeg[at + 2]);
    const auto low = static_cast<unsigned char>(jpeg[at + 3]);
    at += is_filler ? 1 : 2U + high * 256U + low;
  }
  return at < jpeg.size() && jpeg.find("\xff\xd9", at) != std::string_view::npos;
}

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (char byte : bytes.substr(0, 4))
    value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Whether the chunks of a PNG are as their check sums say, which the decoder leaves out.
bool is_whole_png(std::string_view png) {
  std::size_t at = 8;             // behind the signature
  while (at + 12 <= png.size()) { // length, type, bytes, sum
    const std::size_t length = big_endian(png.substr(at));
    if (length > png.size() - at - 12)
      return false;
    const std::string_view summed = png.substr(at + 4, 4 + length);
    const auto sum = crc32_z(0, reinterpret_cast<const Bytef *>(summed.data()), summed.size());
    if (sum != big_endian(png.substr(at + 8 + length)))
      return false;
    if (summed.starts_with("IEND"))
      return true;
    at += 12 + length;
  }
  return false;
}

void check_whole(std::string_view bytes, const std::string &file) {
  if (bytes.starts_with("\xff\xd8") && !is_whole_jpeg(bytes))
    throw Error(ErrorCode::Io, "the JPEG is truncated: its end is missing", file);
  if (bytes.starts_with("\x89PNG") && !is_whole_png(bytes))
    throw Error(ErrorCode::Io, "the PNG is damaged or truncated", file);
}

} // namespace

Image decode_image(std::string_view bytes, const std::string &file) {
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
  check_whole(bytes, file);
  Image image = blank(width, std::abs(height), file);
  const std::unique_ptr<stbi_uc, decltype(&stbi_image_free)> decoded(
      stbi_load_from_memory(data, length, &width, &height, &channels, kChannels), &stbi_image_free);
  if (!decoded)
    throw not_an_image();
  if (width != image.width || height != image.height)
    image = blank(width, height, file);
  std::memcpy(image.rgb.data(), decoded.get(), image.rgb.size());
  return image;
}

Image resize(const Image &image, int width, int height) {
  if (width == image.width && height == image.height)
    return image;
  Image result = blank(width, height, {});
  const int done = stbir_resize_uint8_generic(
      image.rgb.data(), image.width, image.height, 0, result.rgb.data(), width, height, 0,
      kChannels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
      STBIR_COLORSPACE_LINEAR, nullptr);
  if (done == 0)
    throw Error(ErrorCode::Limit, fmt::format("no memory to resize to {} x {}", width, height));
  return result;
}

Image resize_shorter(const Image &image, int side) {
  const bool wide = image.width > image.height;
  const double ratio =
      wide ? double(image.width) / image.height : double(image.height) / image.width;
  const double longer = std::floor(side * ratio);
  if (longer * side > static_cast<double>(kMaxPixels))
    throw Error(ErrorCode::Limit,
                fmt::format("a shorter side of {} makes the longer {:.0f}, which is too large",
                            side, longer));
  return wide ? resize(image, static_cast<int>(longer), side)
              : resize(image, side, static_cast<int>(longer));
}

Image crop_center(const Image &image, int width, int height) {
  if (width > image.width || height > image.height)
    throw Error(ErrorCode::Shape, fmt::format("cannot crop {} x {} out of an image of {} x {}",
                                              width, height, image.width, image.height));
  Image result = blank(width, height, {});
  const int left = static_cast<int>(std::nearbyint((image.width - width) / 2.0));
  const int above = static_cast<int>(std::nearbyint((image.height - height) / 2.0));
  const std::size_t row = static_cast<std::size_t>(width) * kChannels;
  for (int y = 0; y < height; ++y) {
    const std::size_t from =
        static_cast<std::size_t>(pixels(y + above, image.width) + left) * kChannels;
    std::memcpy(result.rgb.data() + static_cast<std::size_t>(y) * row, image.rgb.data() + from,
                row);
  }
  return result;
}

} // namespace tilefuse::data
