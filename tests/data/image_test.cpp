// SPDX-License-Identifier: Apache-2.0
#include "data/decode_image.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tilefuse::data {
namespace {

// A BMP of 24 bits per pixel in which a pixel is (x, y, 7). Rows lie from below, or from above with
// a negative height in the head.
std::string bmp(int width, int height, bool from_above = false) {
  const int row = (width * 3 + 3) / 4 * 4;
  std::string bytes = "BM";
  const auto number = [&](int value, int size) {
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> (8 * i));
  };
  for (int value : {54 + row * height, 0, 54, 40, width, from_above ? -height : height})
    number(value, 4);
  number(1, 2);
  number(24, 2);
  for (int value : {0, row * height, 0, 0, 0, 0})
    number(value, 4);
  for (int line = 0; line < height; ++line) {
    const int y = from_above ? line : height - 1 - line;
    for (int x = 0; x < width; ++x)
      bytes += {static_cast<char>(7), static_cast<char>(y), static_cast<char>(x)};
    bytes.append(static_cast<std::size_t>(row - width * 3), '\0');
  }
  return bytes;
}

Image steps(int width, int height) { return decode_image(bmp(width, height), "steps.bmp"); }

TEST(Image, PixelsAsStored) {
  const Image image = steps(5, 3);
  EXPECT_EQ(image.width, 5);
  EXPECT_EQ(image.height, 3);
  EXPECT_EQ(image.rgb[(2 * 5 + 4) * 3], 4);
  EXPECT_EQ(image.rgb[(2 * 5 + 4) * 3 + 1], 2);
}

TEST(Image, RowsFromAbove) {
  const Image image = decode_image(bmp(5, 3, true), "steps.bmp");
  EXPECT_EQ(image.width, 5);
  EXPECT_EQ(image.height, 3);
  EXPECT_EQ(image.rgb, steps(5, 3).rgb);
}

TEST(Image, WhatIsNone) {
  EXPECT_THROW(decode_image("", "x"), Error);
  EXPECT_THROW(decode_image("some text", "x"), Error);
  EXPECT_THROW(decode_image(bmp(3, 2).substr(0, 30), "x"), Error);
  std::string huge = bmp(1, 1);
  huge[20] = huge[24] = 1; // 65537 x 65537
  EXPECT_THROW(decode_image(huge, "x"), Error);
  for (const std::string &height : {std::string("\0\0\0\x80", 4), std::string(4, '\0')})
    EXPECT_THROW(decode_image(bmp(2, 2).replace(22, 4, height), "x"), Error);
  EXPECT_THROW(decode_image(bmp(2, 2).replace(18, 4, std::string(4, '\xff')), "x"), Error);
}

TEST(Image, HalvingAveragesAsPilDoes) {
  Image image{4, 1, {0, 0, 0, 100, 100, 100, 200, 200, 200, 40, 40, 40}};
  const Image half = resize(image, 2, 1);
  // Triangle of support 2 over clamped edges: weights 3, 3, 1 of 7 inside; edge repetition adds the
  // outer tap.
  EXPECT_NEAR(half.rgb[0], (0 * 3 + 0 * 1 + 100 * 3 + 200 * 1) / 8, 1);
  EXPECT_NEAR(half.rgb[3], (100 * 1 + 200 * 3 + 40 * 3 + 40 * 1) / 8, 1);
}

TEST(Image, ShorterSideAndMiddle) {
  const Image wide = resize_shorter(steps(40, 20), 10);
  EXPECT_EQ(wide.width, 20);
  EXPECT_EQ(wide.height, 10);
  const Image tall = resize_shorter(steps(20, 50), 10);
  EXPECT_EQ(tall.width, 10);
  EXPECT_EQ(tall.height, 25);
  const Image middle = crop_center(steps(9, 7), 3, 5);
  EXPECT_EQ(middle.rgb[0], 3);
  EXPECT_EQ(middle.rgb[1], 1);
  EXPECT_THROW(crop_center(steps(9, 7), 10, 5), Error);
  EXPECT_THROW(resize_shorter(steps(200, 1), 60000), Error);
  EXPECT_THROW(resize_shorter(steps(200, 1), 4, 3000), Error);
  EXPECT_EQ(resize_shorter(steps(200, 1), 4, 3200).width, 800);
}

} // namespace
} // namespace tilefuse::data
