// SPDX-License-Identifier: Apache-2.0
// F12 of a newcomer's list: a camera that was held upright says so beside the pixels.
#include "data/exif.h"

#include <gtest/gtest.h>

#include <string>

#include "data/decode_image.h"
#include "data/encode_png.h"

namespace tilefuse::data {
namespace {

// The start of a JPEG with a TIFF block of one entry, in either byte order.
std::string jpeg_head(int orientation, bool is_little) {
  const auto number = [&](unsigned value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> (is_little ? i : size - 1 - i) * 8 & 0xff);
    return bytes;
  };
  const std::string tiff = (is_little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(1, 2) +
                           number(0x0112, 2) + number(3, 2) + number(1, 4) +
                           number(static_cast<unsigned>(orientation), 2) + number(0, 2) +
                           number(0, 4);
  const std::string body = std::string("Exif\0\0", 6) + tiff;
  const std::size_t length = body.size() + 2;
  return std::string("\xff\xd8\xff\xe1") + static_cast<char>(length >> 8) +
         static_cast<char>(length & 0xff) + body;
}

TEST(Exif, OrientationInBothByteOrders) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_EQ(exif_orientation(jpeg_head(orientation, true)), orientation);
    EXPECT_EQ(exif_orientation(jpeg_head(orientation, false)), orientation);
  }
  EXPECT_EQ(exif_orientation(jpeg_head(9, true)), 1);
}

TEST(Exif, DamagedBlocksAreUpright) {
  const std::string whole = jpeg_head(6, true);
  for (std::size_t size = 0; size < whole.size() - 8; ++size)
    EXPECT_EQ(exif_orientation(std::string_view(whole).substr(0, size)), 1) << size;
  EXPECT_EQ(exif_orientation("\xff\xd8\xff\xe1\x00\x01"), 1);
}

// Pixels numbered by row: 0 1 2 / 3 4 5.
Image numbered() {
  Image image{3, 2, {}};
  for (std::uint8_t p = 0; p < 6; ++p)
    image.rgb.insert(image.rgb.end(), {p, 0, 0});
  return image;
}

std::string reds(const Image &image) {
  std::string text;
  for (int y = 0; y < image.height; ++y, text += '/')
    for (int x = 0; x < image.width; ++x)
      text += static_cast<char>('0' + image.rgb[static_cast<std::size_t>(y * image.width + x) * 3]);
  return text;
}

TEST(Exif, UprightAsTheStandardNumbersThem) {
  const char *const kExpected[] = {"012/345/",  "210/543/",  "543/210/",  "345/012/",
                                   "03/14/25/", "30/41/52/", "52/41/30/", "25/14/03/"};
  for (int orientation = 1; orientation <= 8; ++orientation)
    EXPECT_EQ(reds(upright(numbered(), orientation)), kExpected[orientation - 1]) << orientation;
}

TEST(EncodePng, ReadsBack) {
  const Image image = numbered();
  const Image back = decode_image(encode_png(image), "test");
  EXPECT_EQ(back.width, 3);
  EXPECT_EQ(back.height, 2);
  EXPECT_EQ(back.rgb, image.rgb);
}

} // namespace
} // namespace tilefuse::data
