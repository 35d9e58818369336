// SPDX-License-Identifier: Apache-2.0
// Pictures: decoding (JPEG, PNG, BMP, GIF), resizing as PIL's bilinear filter does
// (antialiased when shrinking), and cropping. Pixels are RGB bytes, row by row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilefuse::data {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb; // (y, x, channel)
};

constexpr std::int64_t kMaxPixels = std::int64_t{64} << 20;

// `file` names the bytes in errors: Error{Io} when they are no picture, Error{Limit} past
// kMaxPixels.
Image decode_image(std::string_view bytes, const std::string &file);

// Error{Limit} past kMaxPixels.
Image resize(const Image &image, int width, int height);
// So that the shorter side has `side` pixels; the longer keeps the proportion, rounded down.
Image resize_shorter(const Image &image, int side);
// The middle width x height pixels. Error{Shape} when the image is smaller.
Image crop_center(const Image &image, int width, int height);

} // namespace tilefuse::data
