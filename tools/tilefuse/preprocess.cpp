// SPDX-License-Identifier: Apache-2.0
#include "preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

using data::Image;
using program::HostTensor;

// Width and height that a picture is resized to, before it is cropped or padded.
std::array<int, 2> resized(const Image &image, const Preprocess &settings,
                           const ImageShape &shape) {
  const std::array<int, 2> size =
      settings.size.value_or(std::array<int, 2>{shape.width, shape.height});
  if (settings.pad) {
    const double ratio = std::min(double(size[0]) / image.width, double(size[1]) / image.height);
    const auto side = [&](int pixels, int most) {
      return std::clamp(static_cast<int>(pixels * ratio), 1, most);
    };
    return {side(image.width, size[0]), side(image.height, size[1])};
  }
  if (settings.resize_shorter)
    return shorter_size(image, *settings.resize_shorter);
  if (!settings.size && settings.crop)
    return {image.width, image.height};
  return size;
}

// The picture at the left and the top of a grey one.
Image padded(const Image &image, int grey, const std::array<int, 2> &size) {
  Image whole = data::blank_image(size[0], size[1]);
  std::fill(whole.rgb.begin(), whole.rgb.end(), static_cast<std::uint8_t>(grey));
  const std::ptrdiff_t row = std::ptrdiff_t{data::kChannels} * image.width;
  for (int y = 0; y < image.height; ++y)
    std::copy_n(image.rgb.begin() + y * row, row,
                whole.rgb.begin() + std::ptrdiff_t{data::kChannels} * y * whole.width);
  return whole;
}

Image shape_image(const Image &image, const Preprocess &settings, const ImageShape &shape) {
  const auto [width, height] = resized(image, settings, shape);
  const bool is_same = width == image.width && height == image.height;
  const Image shaped = is_same ? image : resize(image, width, height);
  if (settings.pad)
    return padded(shaped, *settings.pad,
                  settings.size.value_or(std::array<int, 2>{shape.width, shape.height}));
  return settings.crop ? crop_center(shaped, (*settings.crop)[0], (*settings.crop)[1]) : shaped;
}

// ITU-R 601 luma in 16-bit fixed point, rounded.
double luma(const std::uint8_t *rgb) {
  return (19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 0x8000) >> 16;
}

double pixel_value(const std::uint8_t *rgb, int channel, int channels, bool bgr) {
  if (channels == 1)
    return luma(rgb);
  return rgb[bgr ? 2 - channel : channel];
}

} // namespace

ImageShape image_shape(const HostTensor &input, const Preprocess &settings) {
  const program::Shape &shape = input.shape;
  const auto fits = [&](std::size_t axis) {
    return shape.size() == 4 && (shape[axis] == 1 || shape[axis] == 3);
  };
  const bool nhwc = settings.nhwc.value_or(!fits(1) && fits(3));
  if (!fits(nhwc ? 3 : 1))
    throw Error(ErrorCode::Shape, fmt::format("input '{}' has shape [{}], which is not {} with 1 "
                                              "or 3 channels, so it cannot take an image",
                                              input.name, fmt::join(shape, ", "),
                                              nhwc ? "[N, H, W, C]" : "[N, C, H, W]"));
  const std::size_t height = nhwc ? 1 : 2;
  if (shape[height] > data::kMaxPixels || shape[height + 1] > data::kMaxPixels)
    throw Error(ErrorCode::Limit, fmt::format("input '{}' is too large for an image", input.name));
  return {shape[0], static_cast<int>(shape[nhwc ? 3 : 1]), static_cast<int>(shape[height]),
          static_cast<int>(shape[height + 1]), nhwc};
}

Placement placement(const Image &image, const Preprocess &settings, const ImageShape &shape) {
  const auto [width, height] = resized(image, settings, shape);
  Placement place{double(width) / image.width, double(height) / image.height};
  if (settings.crop) {
    place.shift_x = -data::middle(width, (*settings.crop)[0]);
    place.shift_y = -data::middle(height, (*settings.crop)[1]);
  }
  return place;
}

void fill_input(const Image &image, const Preprocess &settings, std::int64_t n, HostTensor &input,
                const std::string &file) {
  const ImageShape shape = image_shape(input, settings);
  const Image shaped = shape_image(image, settings, shape);
  if (shaped.width != shape.width || shaped.height != shape.height)
    throw Error(ErrorCode::Shape,
                fmt::format("preprocessing makes the image {} x {}, the model takes {} x {}",
                            shaped.width, shaped.height, shape.width, shape.height),
                file, {"--size, --pad, --resize-shorter and --crop set the size"});
  const std::int64_t plane = std::int64_t{shape.height} * shape.width;
  for (std::int64_t p = 0; p < plane; ++p) {
    for (int c = 0; c < shape.channels; ++c) {
      const auto k = static_cast<std::size_t>(c);
      const double pixel = pixel_value(&shaped.rgb[static_cast<std::size_t>(p) * 3], c,
                                       shape.channels, settings.bgr);
      const double value = (pixel * settings.scale[k] - settings.mean[k]) / settings.std[k];
      const std::int64_t within = shape.nhwc ? p * shape.channels + c : c * plane + p;
      program::set(input, n * plane * shape.channels + within, value);
    }
  }
}

} // namespace tilefuse::tool
