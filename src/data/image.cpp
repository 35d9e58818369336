// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"

// Its check of weights fails on photographs, right before it scales them to add up to 1.
#define STBIR_ASSERT(condition) ((void)0)
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image_resize.h>

namespace tilefuse::data {
namespace {

std::int64_t pixels(int width, int height) { return std::int64_t{width} * height; }

} // namespace

Image blank_image(int width, int height, const std::string &file, std::int64_t most_pixels) {
  if (pixels(width, height) > most_pixels)
    throw Error(ErrorCode::Limit,
                fmt::format("the image would be {} x {}, at most {} megapixels are taken", width,
                            height, most_pixels >> 20),
                file);
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(pixels(width, height) * kChannels))};
}

Image resize(const Image &image, int width, int height) {
  if (width == image.width && height == image.height)
    return image;
  Image result = blank_image(width, height);
  const int done = stbir_resize_uint8_generic(
      image.rgb.data(), image.width, image.height, 0, result.rgb.data(), width, height, 0,
      kChannels, STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE,
      STBIR_COLORSPACE_LINEAR, nullptr);
  if (done == 0)
    throw Error(ErrorCode::Limit, fmt::format("no memory to resize to {} x {}", width, height));
  return result;
}

std::array<int, 2> shorter_size(const Image &image, int side, std::int64_t most_pixels) {
  const bool wide = image.width > image.height;
  const double ratio =
      wide ? double(image.width) / image.height : double(image.height) / image.width;
  const double longer = std::floor(side * ratio);
  if (longer * side > static_cast<double>(most_pixels))
    throw Error(ErrorCode::Limit,
                fmt::format("a shorter side of {} makes the longer {:.0f}, which is too large",
                            side, longer));
  const int other = static_cast<int>(longer);
  return wide ? std::array<int, 2>{other, side} : std::array<int, 2>{side, other};
}

Image resize_shorter(const Image &image, int side, std::int64_t most_pixels) {
  const auto [width, height] = shorter_size(image, side, most_pixels);
  return resize(image, width, height);
}

int middle(int whole, int part) { return static_cast<int>(std::nearbyint((whole - part) / 2.0)); }

Image crop_center(const Image &image, int width, int height) {
  if (width > image.width || height > image.height)
    throw Error(ErrorCode::Shape, fmt::format("cannot crop {} x {} out of an image of {} x {}",
                                              width, height, image.width, image.height));
  Image result = blank_image(width, height);
  const int left = middle(image.width, width);
  const int above = middle(image.height, height);
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
