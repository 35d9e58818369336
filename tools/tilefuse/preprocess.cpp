// SPDX-License-Identifier: Apache-2.0
#include "preprocess.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace tilefuse::tool {
namespace {

using data::Image;
using program::HostTensor;

// Size of the picture after resizing and cropping as the settings say, or straight to the input's
// size.
Image shape_image(const Image &image, const Preprocess &settings, const ImageShape &shape) {
  Image shaped;
  if (settings.resize_shorter) {
    shaped = resize_shorter(image, *settings.resize_shorter);
  } else if (settings.size) {
    shaped = resize(image, (*settings.size)[0], (*settings.size)[1]);
  } else if (!settings.crop) {
    return resize(image, shape.width, shape.height);
  } else {
    shaped = image;
  }
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

void fill_input(const Image &image, const Preprocess &settings, std::int64_t n, HostTensor &input,
                const std::string &file) {
  const ImageShape shape = image_shape(input, settings);
  const Image shaped = shape_image(image, settings, shape);
  if (shaped.width != shape.width || shaped.height != shape.height)
    throw Error(ErrorCode::Shape,
                fmt::format("preprocessing makes the image {} x {}, the model takes {} x {}",
                            shaped.width, shaped.height, shape.width, shape.height),
                file, {"--size, --resize-shorter and --crop set the size"});
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
