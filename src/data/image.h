// SPDX-License-Identifier: Apache-2.0
// Pictures in memory: resizing as PIL's bilinear filter does (antialiased when shrinking), and
// cropping. Pixels are RGB bytes, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tilefuse::data {

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb; // (y, x, channel)
};

constexpr int kChannels = 3;
constexpr std::int64_t kMaxPixels = std::int64_t{64} << 20;

// Black. Error{Limit} past `most_pixels`; `file` is what it is made for.
Image blank_image(int width, int height, const std::string &file = {},
                  std::int64_t most_pixels = kMaxPixels);

// Error{Limit} past kMaxPixels.
Image resize(const Image &image, int width, int height);
// Width and height that resize_shorter() gives.
std::array<int, 2> shorter_size(const Image &image, int side,
                                std::int64_t most_pixels = kMaxPixels);
// So that the shorter side has `side` pixels; the longer keeps the proportion, rounded down.
// Error{Limit} past `most_pixels`, which is at most kMaxPixels.
Image resize_shorter(const Image &image, int side, std::int64_t most_pixels = kMaxPixels);
// Where the middle `part` pixels of `whole` begin.
int middle(int whole, int part);
// The middle width x height pixels. Error{Shape} when the image is smaller.
Image crop_center(const Image &image, int width, int height);

} // namespace tilefuse::data
