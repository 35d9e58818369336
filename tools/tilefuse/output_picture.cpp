// SPDX-License-Identifier: Apache-2.0
#include "output_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "open_model.h"
#include "paint.h"

namespace tilefuse::tool {
namespace {

using data::Image;
using program::HostTensor;

constexpr double kSlack = 0.25; // of a pixel's value, beyond 255
constexpr std::int64_t kMostClasses = 4096;

// Elements as (channel, row, column), whatever their order in memory.
struct Planes {
  const HostTensor *tensor = nullptr;
  std::int64_t channels = 1, height = 0, width = 0;
  std::int64_t channel_step = 0, pixel_step = 1;
  double at(std::int64_t c, std::int64_t pixel) const {
    return program::get(*tensor, c * channel_step + pixel * pixel_step);
  }
  std::int64_t pixels() const { return height * width; }
};

Planes planes_of(const HostTensor &output) {
  program::Shape shape = output.shape;
  while (shape.size() > 2 && shape.front() == 1)
    shape.erase(shape.begin());
  if (shape.size() > 2 && shape.back() == 1)
    shape.pop_back();
  Planes planes{.tensor = &output};
  // Channels come last where there are three of them, or fewer than rows and columns.
  const bool is_last = shape.size() == 3 && shape[0] != 3 &&
                       (shape[2] == 3 || (shape[2] < shape[0] && shape[2] < shape[1]));
  if (shape.size() == 2) {
    planes.height = shape[0];
    planes.width = shape[1];
  } else if (is_last) {
    planes = {&output, shape[2], shape[0], shape[1], 1, shape[2]};
  } else if (shape.size() == 3) {
    planes = {&output, shape[0], shape[1], shape[2], shape[1] * shape[2], 1};
  }
  if (planes.pixels() <= 0 || planes.pixels() > data::kMaxPixels || planes.height > 65535 ||
      planes.width > 65535 || planes.channels > kMostClasses)
    throw Error(ErrorCode::Shape,
                fmt::format("output '{}' {} is no picture: need [1, C, H, W] or [H, W]",
                            output.name, type_text(output)),
                {}, {"--output FILE.npy writes it as an array"});
  return planes;
}

std::int64_t class_at(const Planes &planes, std::int64_t pixel) {
  if (planes.channels == 1)
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(planes.at(0, pixel)));
  std::int64_t best = 0;
  for (std::int64_t c = 1; c < planes.channels; ++c)
    if (planes.at(c, pixel) > planes.at(best, pixel))
      best = c;
  return best;
}

// value * scale + shift lies in 0..255.
struct Stretch {
  double scale = 1;
  double shift = 0;
};

Stretch stretch_of(const Planes &planes) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (std::int64_t c = 0; c < planes.channels; ++c)
    for (std::int64_t p = 0; p < planes.pixels(); ++p) {
      const double value = planes.at(c, p);
      if (!std::isfinite(value))
        continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  const double slack = kSlack;
  if (least >= -slack && most <= 1 + slack)
    return {255, 0};
  if (least >= -255 * slack && most <= 255 * (1 + slack) && most > 1 + slack)
    return {1, 0};
  const double scale = most > least ? 255 / (most - least) : 0;
  return {scale, -least * scale};
}

} // namespace

Image output_picture(const HostTensor &output) {
  const Planes planes = planes_of(output);
  Image image = data::blank_image(static_cast<int>(planes.width), static_cast<int>(planes.height));
  const bool is_classes =
      (planes.channels != 3 && planes.channels != 1) ||
      (planes.channels == 1 && !is_float(output.type) && output.type != DType::U8);
  const Stretch stretch = is_classes ? Stretch{} : stretch_of(planes);
  for (std::int64_t p = 0; p < planes.pixels(); ++p) {
    std::array<std::uint8_t, 3> rgb = {};
    if (is_classes)
      rgb = class_colour(class_at(planes, p));
    for (std::size_t c = 0; !is_classes && c < 3; ++c) {
      const double value = planes.at(planes.channels == 3 ? static_cast<std::int64_t>(c) : 0, p);
      const double pixel = std::round(value * stretch.scale + stretch.shift);
      rgb[c] = static_cast<std::uint8_t>(std::isfinite(pixel) ? std::clamp(pixel, 0.0, 255.0) : 0);
    }
    std::copy(rgb.begin(), rgb.end(), image.rgb.begin() + p * data::kChannels);
  }
  return image;
}

} // namespace tilefuse::tool
